// Logs for tests.

import { RunLog } from "../../addnorm/player/runlog.js"

// A run with a loss and a vector at three sites, and these rows of four numbers.
export const runOf = (...rows) => {
  const log = new RunLog({ link: "", seeds: 1, last: 9 })
  const tracks = [
    { name: "loss", start: 0, width: 1 },
    { name: "act_rms", start: 1, width: 3 },
  ]
  log.receive({ kind: "header", last: 9, seeds: 1, width: 4, tracks })
  log.setRows(0, Float32Array.from(rows.flat()))
  return log
}
// The moment of a chart: at step 0, before training, unless `more` says otherwise.
export const momentOf = (log, more) => ({ logs: [log], position: 0, shown: 0, furthest: 0, playing: false, ...more })
