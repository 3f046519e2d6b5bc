// The viewer's guesses about ten samples, by panel and net, in the browser's local storage.

const KEY = "add-norm guesses"
const MAX_GUESSES = 30

const readGuesses = () => {
  try {
    return new Map(JSON.parse(localStorage.getItem(KEY)))
  } catch {
    return new Map() // no storage here, or not our data
  }
}
const guesses = readGuesses()

// The stored guess, if it is one of these options.
export const guessOf = (name, options) => options.find((option) => option === guesses.get(name))

export const saveGuess = (name, option) => {
  guesses.delete(name) // so that the newest is last
  guesses.set(name, option)
  try {
    localStorage.setItem(KEY, JSON.stringify([...guesses].slice(-MAX_GUESSES)))
  } catch {
    // the guess then lasts until the tab leaves the app
  }
}
