// torch's generator on a processor, and the app's seeds for it: the same draws as models/generator.py, in any browser.

const SIZE = 624 // words of the Mersenne Twister's state
const SHIFT = 397
export const HELD_OUT_SEED = 0 // of held-out samples, which are those of every run

// What SHA-256 takes from the roots of the first primes.
const primes = []
for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n)
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) >>> 0
const constants = primes.map((prime) => fraction(Math.cbrt(prime)))

// The digest of a text, as 32 bytes (FIPS 180-4). A page from a disk has no crypto.subtle in every browser.
const sha256 = (text) => {
  const state = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)))
  const bytes = new TextEncoder().encode(text)
  const padded = new DataView(new ArrayBuffer(((bytes.length + 8) >> 6) * 64 + 64))
  new Uint8Array(padded.buffer).set(bytes)
  padded.setUint8(bytes.length, 0x80)
  padded.setUint32(padded.byteLength - 4, bytes.length * 8)
  const turned = (word, by) => (word >>> by) | (word << (32 - by))
  const w = new Uint32Array(64)
  for (let at = 0; at < padded.byteLength; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = padded.getUint32(at + 4 * i)
    for (let i = 16; i < 64; i++) {
      const s0 = turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ (w[i - 15] >>> 3)
      const s1 = turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ (w[i - 2] >>> 10)
      w[i] = w[i - 16] + s0 + w[i - 7] + s1
    }
    let [a, b, c, d, e, f, g, h] = state
    for (let i = 0; i < 64; i++) {
      const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + constants[i] + w[i]) | 0
      const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
      ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0]
    }
    ;[a, b, c, d, e, f, g, h].forEach((word, i) => {
      state[i] = (state[i] + word) >>> 0
    })
  }
  return state
}

// The Mersenne Twister mt19937 with torch's ways of drawing from it.
export class Generator {
  constructor(seed) {
    const state = new Uint32Array(SIZE)
    state[0] = seed
    for (let i = 1; i < SIZE; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i
    this.state = state
    this.next = SIZE
    this.kept = NaN // the second number of a pair from a normal distribution
  }

  word() {
    const { state } = this
    if (this.next === SIZE) {
      for (let k = 0; k < SIZE; k++) {
        const y = (state[k] & 0x80000000) | (state[(k + 1) % SIZE] & 0x7fffffff)
        state[k] = state[(k + SHIFT) % SIZE] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0)
      }
      this.next = 0
    }
    let y = state[this.next++]
    y ^= y >>> 11
    y ^= (y << 7) & 0x9d2c5680
    y ^= (y << 15) & 0xefc60000
    return (y ^ (y >>> 18)) >>> 0
  }

  // torch.randint(high, (n,))
  integers(n, high) {
    return Int32Array.from({ length: n }, () => this.word() % high)
  }

  // torch.rand(n)
  uniform(n) {
    return Float32Array.from({ length: n }, () => (this.word() & 0xffffff) / 2 ** 24)
  }

  // torch.randn(n): Box-Muller in sixteens, the last of which is drawn again where n is no multiple; few in pairs.
  normal(n) {
    if (n < 16) return Float32Array.from({ length: n }, () => this.oneNormal())
    const x = this.uniform(n)
    for (let at = 0; at + 16 <= n; at += 16) sixteen(x, at)
    if (n % 16) {
      x.set(this.uniform(16), n - 16)
      sixteen(x, n - 16)
    }
    return x
  }

  double() {
    const high = this.word() & 0x1fffff // torch takes 53 of 64 bits
    return (high * 2 ** 32 + this.word()) / 2 ** 53
  }

  // One number of torch.empty(n).exponential_()
  exponential() {
    return -Math.log1p(-this.double())
  }

  oneNormal() {
    if (!Number.isNaN(this.kept)) {
      const kept = this.kept
      this.kept = NaN
      return kept
    }
    const angle = 2 * Math.PI * this.double()
    const radius = Math.sqrt(2 * this.exponential())
    this.kept = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
}

const sixteen = (x, at) => {
  for (let j = at; j < at + 8; j++) {
    const radius = Math.sqrt(-2 * Math.log(1 - x[j]))
    const angle = Math.fround(Math.fround(2 * Math.PI) * x[j + 8])
    x[j] = radius * Math.cos(angle)
    x[j + 8] = radius * Math.sin(angle)
  }
}

// The generator that depends on the seed and the words alone. torch seeds it with the lower half of 63 bits.
export const generator = (seed, ...words) => {
  const [high, low] = sha256([seed, ...words].join("|"))
  return new Generator(((high << 31) | (low >>> 1)) >>> 0)
}
