// Where playheads stood, by the runs of their player. A tab keeps them, so that a reload finds a finished run again.

const KEY = "add-norm places"
const MOST = 30

const readPlaces = () => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? []
  } catch {
    return [] // nothing may be kept here
  }
}
const stored = new Map(readPlaces()) // by an earlier load of the page
const places = new Map()

// Where a playhead stood on this load of the page.
export const knownPlace = (name) => places.get(name)

// Where it stood before a reload, the first time that this is asked.
export const placeBefore = (name) => {
  const place = stored.get(name)
  stored.delete(name)
  return place
}

export const keepPlace = (name, place) => {
  for (const known of [places, stored]) known.delete(name)
  places.set(name, place)
}

// For the next load of the page.
export const storePlaces = () => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...stored, ...places].slice(-MOST)))
  } catch {
    // then it begins at step 0
  }
}
