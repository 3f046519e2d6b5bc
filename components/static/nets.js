// What a page draws of nets besides their numbers: their blocks, their exceptions and their names.

import { planOf } from "../../addnorm/engine/config.js"

const SLOTS = { add: "normAdd", in: "normIn", mid: "normMid", out: "normOut" }
const MAX_NAMED = 2 // fields in a legend
const WORDS = { true: "on", false: "off" }

// The blocks of a net for its stack, as components/player/panels.py has them.
export const blocksOf = (cfg, schema) =>
  planOf(cfg, schema).sublayers.map(({ block, skip, identity, ...norms }) => ({
    block,
    name: `block ${block}`,
    site: block,
    skip: identity ? 1 : skip,
    norms: identity ? [] : Object.keys(SLOTS).filter((slot) => norms[SLOTS[slot]] !== "none"),
    out: identity,
  }))

// The exceptions of single blocks up to a depth as text; `out`: those that are taken out, in place of its own.
/** @param {Record<string, any>} cfg @param {number} depth @param {number[]} [out] */
export const overridesOf = ({ overrides }, depth, out) => {
  const texts = []
  for (let block = 1; block <= depth; block++) {
    const { identity, ...own } = overrides[block] ?? {}
    const isOut = out ? out.includes(block) : identity
    for (const [key, value] of Object.entries(isOut ? { ...own, identity: true } : own))
      texts.push(`${block}.${key}.${value}`)
  }
  return texts.join(",")
}

// The letters of the columns, with their differing fields if these are few.
export const namesOf = (columns, { fields }) => {
  const differing = Object.keys(fields).filter((name) => columns.some((cfg) => cfg[name] !== columns[0][name]))
  const named = differing.length > MAX_NAMED ? [] : differing
  const textOf = (cfg) => named.map((name) => `${fields[name].label.toLowerCase()} ${WORDS[cfg[name]] ?? cfg[name]}`)
  return columns.map((cfg, index) => `${"AB"[index]} ${textOf(cfg).join(", ")}`)
}
