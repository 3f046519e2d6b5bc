// The tasks of symbols: sequences with an answer, and the book.

import { HELD_OUT } from "./config.js"
import { answers, NO_LOSS } from "./loss.js"
import { generator, HELD_OUT_SEED } from "./random.js"

const [SYMBOLS, SHOWN, TOKENS] = [16, 4, 32]

// By task: the second half of a sequence from the first. From the last symbol of the first on, the next one is to be said.
const ANSWERS = {
  copy: (question) => question,
  reverse: (question) => question.toReversed(),
  sort: (question) => question.toSorted(),
}

// Sequences of one of the tasks above, or of successors: the target of each symbol is the one after it in the alphabet.
export class Sequences {
  constructor(task) {
    this.answerOf = ANSWERS[task]
    this.heldOut = this.draw(HELD_OUT, generator(HELD_OUT_SEED, "held out", task))
  }

  draw(count, source) {
    const [x, y] = [new Int32Array(count * TOKENS), new Int32Array(count * TOKENS).fill(NO_LOSS)]
    const symbols = () => source.integers(count * SYMBOLS, SYMBOLS)
    const first = symbols()
    const second = this.answerOf ? null : symbols()
    for (let sample = 0; sample < count; sample++) {
      const [at, half] = [sample * TOKENS, sample * SYMBOLS]
      const question = first.subarray(half, half + SYMBOLS)
      const answer = second?.subarray(half, half + SYMBOLS) ?? this.answerOf(question)
      x.set(question, at)
      x.set(answer, at + SYMBOLS)
      if (!second) y.set(answer, at + SYMBOLS - 1)
    }
    return { x, y: second ? x.map((symbol) => (symbol + 1) % SYMBOLS) : y, n: x.length }
  }

  // The first held-out sequences, their targets and the net's answers, -1 where there is no target.
  picture(logitsOf) {
    const { x, y, n } = this.heldOut
    const { guess } = answers(logitsOf(x, n), n, SYMBOLS)
    const shown = (numbers) =>
      Array.from({ length: SHOWN }, (_, i) => [...numbers.subarray(i * TOKENS, (i + 1) * TOKENS)])
    const where = (numbers) => shown(numbers.map((number, i) => (y[i] === NO_LOSS ? -1 : number)))
    return { kind: "sequence", input: shown(x), target: where(y), guess: where(guess) }
  }
}

const [PROMPT, SAMPLE_CHARS, TEMPERATURE, MAX_CANDIDATES] = ["Call me Ish", 48, 0.5, 5]

// Windows of the book's text, of which the last tenth is held out; the target of each character is the next.
export class Book {
  constructor(text) {
    this.alphabet = [...new Set(text)].sort()
    const codes = new Map(this.alphabet.map((character, code) => [character, code]))
    this.codes = Int32Array.from(text, (character) => codes.get(character))
    this.trained = Math.floor((text.length * 9) / 10)
    const step = (text.length - TOKENS - 1 - this.trained) / (HELD_OUT - 1)
    this.heldOut = this.windows(Array.from({ length: HELD_OUT }, (_, i) => Math.floor(i * step + this.trained)))
  }

  windows(starts) {
    const from = (shift) =>
      Int32Array.from({ length: starts.length * TOKENS }, (_, i) => {
        const token = i % TOKENS
        return this.codes[starts[(i - token) / TOKENS] + token + shift]
      })
    return { x: from(0), y: from(1), n: starts.length * TOKENS }
  }

  draw(count, source) {
    return this.windows(source.integers(count, this.trained - TOKENS))
  }

  // As Python shows a character.
  className(label) {
    const character = this.alphabet[label]
    return character === "'" ? `"'"` : `'${character === "\n" ? "\\n" : character}'`
  }

  // A continuation of the prompt, up to where its probabilities are not finite, and the likeliest characters after it.
  picture(logitsOf) {
    const { alphabet } = this
    const source = generator(HELD_OUT_SEED, "sample")
    const text = Array.from(PROMPT, (character) => alphabet.indexOf(character))
    const picture = { kind: "text", prompt: PROMPT, sample: "", p: [], candidates: "", candidate_p: [] }
    while (picture.p.length < SAMPLE_CHARS) {
      const read = Int32Array.from(text.slice(-TOKENS))
      const logits = logitsOf(read, read.length).subarray(-alphabet.length)
      const { guess, confidence } = answers(logits, 1, alphabet.length)
      const shares = logits.map((logit) => Math.exp(logit - logits[guess[0]]) * confidence[0])
      if (!shares.every(Number.isFinite)) break
      if (!picture.sample) {
        const likeliest = [...shares.keys()].sort((a, b) => shares[b] - shares[a]).slice(0, MAX_CANDIDATES)
        picture.candidates = likeliest.map((code) => alphabet[code]).join("")
        picture.candidate_p = likeliest.map((code) => shares[code])
      }
      // The largest of logits with such noise is a sample (Gumbel-max).
      const noisy = logits.map((logit) => logit / TEMPERATURE - Math.log(source.exponential()))
      const next = noisy.indexOf(Math.max(...noisy))
      text.push(next)
      picture.sample += alphabet[next]
      picture.p.push(shares[next])
    }
    return picture
  }
}
