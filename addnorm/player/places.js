// The last places of playheads, by the runs of their player, in the tab's session storage: they survive a reload.

const KEY = "add-norm places"
const MAX_PLACES = 30

const readPlaces = () => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) ?? []
  } catch {
    return [] // no storage here
  }
}
const stored = new Map(readPlaces()) // from an earlier load of the page
const places = new Map() // from this load

// Whether the tab keeps them at all.
export const keepsPlaces = (() => {
  try {
    sessionStorage.setItem(`${KEY} are kept`, "")
    return true
  } catch {
    return false
  }
})()

export const recallPlace = (name) => places.get(name)

// The place before a reload; only the first call returns it.
export const takeStoredPlace = (name) => {
  const place = stored.get(name)
  stored.delete(name)
  return place
}

export const savePlace = (name, place) => {
  for (const map of [places, stored]) map.delete(name) // the newest place comes last
  places.set(name, place)
}

export const storePlaces = () => {
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...stored, ...places].slice(-MAX_PLACES)))
  } catch {
    // the next load then begins at step 0
  }
}
