// What was guessed of ten samples, by the panel and its net. The browser keeps it.

const KEY = "add-norm guesses"
const MOST = 30

const readGuesses = () => {
  try {
    return new Map(JSON.parse(localStorage.getItem(KEY)))
  } catch {
    return new Map() // nothing may be kept here, or it is not ours
  }
}
const guesses = readGuesses()

// A guess, if it is one of these options.
export const guessOf = (name, options) => options.find((option) => option === guesses.get(name))

export const keepGuess = (name, option) => {
  guesses.delete(name) // so that the newest is last
  guesses.set(name, option)
  try {
    localStorage.setItem(KEY, JSON.stringify([...guesses].slice(-MOST)))
  } catch {
    // then it lasts until the tab leaves the app
  }
}
