// Softmax, and the cross-entropy of a batch with its gradient.

// Torch's largest number is NaN where there is one. Calls `each(row, largest, sum, label)` with the largest logit and the sum of the exponentials of the others less it.
const rows = (logits, n, classes, each) => {
  for (let row = 0; row < n; row++) {
    const at = row * classes
    let [largest, label, sum] = [logits[at], 0, 0]
    for (let k = 1; k < classes; k++) {
      const isLarger = logits[at + k] > largest || (Number.isNaN(logits[at + k]) && !Number.isNaN(largest))
      if (isLarger) [largest, label] = [logits[at + k], k]
    }
    for (let k = 0; k < classes; k++) sum += Math.exp(logits[at + k] - largest)
    each(row, largest, sum, label)
  }
}

export const NO_LOSS = -100 // label of a row that has none

// The mean cross-entropy of the n rows of logits that have a label; fills `gradient` where there is one.
export const crossEntropy = (logits, labels, n, classes, gradient = null) => {
  let loss = 0
  let count = 0
  for (let row = 0; row < n; row++) count += Number(labels[row] !== NO_LOSS)
  gradient?.fill(0)
  rows(logits, n, classes, (row, largest, sum) => {
    if (labels[row] === NO_LOSS) return
    const at = row * classes
    loss += largest + Math.log(sum) - logits[at + labels[row]]
    if (gradient) {
      for (let k = 0; k < classes; k++) {
        const error = Math.exp(logits[at + k] - largest) / sum - Number(k === labels[row])
        gradient[at + k] = error / count // rounded once, so that a certain answer has no gradient
      }
    }
  })
  return loss / count
}

// The likeliest class of each of n rows, and its probability.
export const answers = (logits, n, classes) => {
  const [guess, confidence] = [new Int32Array(n), new Float32Array(n)]
  rows(logits, n, classes, (row, _, sum, label) => {
    guess[row] = label
    confidence[row] = 1 / sum
  })
  return { guess, confidence }
}
