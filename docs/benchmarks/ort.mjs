// Measures `npu bench model` against ONNX Runtime (onnxruntime-node) on the same models, inputs and threads, in turns, and
// writes docs/benchmarks/ort.json and the table docs/benchmarks/ort.md.
//
//   mkdir /tmp/ort && (cd /tmp/ort && npm init -y && npm i --ignore-scripts onnxruntime-node@1.30.0)
//   go build -o /tmp/ort/npu ./cmd/npu
//   ORT=/tmp/ort NPU=/tmp/ort/npu node docs/benchmarks/ort.mjs MODEL...
//
// --out NAME writes NAME.json and NAME.md instead; layers.mjs makes models of single layers for that.
//
// A MODEL is an .onnx file, or a folder with model.onnx, case.json and input files (names, dtypes and shapes in
// case.json). Inputs without a file are made up, the same for both. --rounds 7, --ms 400 and --threads 1,2 are the defaults.
//
// In each round both run for --ms, one after the other, and each gives its median; the ratio of a model is the median of
// the rounds' ratios, ONNX Runtime's time over ours: above 1, npu is the faster. Outputs are compared as well: a fast
// wrong answer is no result.
import { spawn, spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { cpus, tmpdir } from 'node:os'
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = path.dirname(fileURLToPath(import.meta.url))
const ortDir = process.env.ORT ?? fail('ORT is not set: the folder with node_modules/onnxruntime-node')
const ort = createRequire(path.join(path.resolve(ortDir), 'package.json'))('onnxruntime-node')
const arrays = {
  float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array,
  uint8: Uint8Array, int8: Int8Array, bool: Uint8Array,
}

function fail(text) {
  console.error(`ort.mjs: ${text}`)
  process.exit(1)
}

const median = (v) => {
  const s = [...v].sort((a, b) => a - b)
  return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2
}
const geomean = (v) => Math.exp(v.reduce((a, x) => a + Math.log(x), 0) / v.length)

function session(file, threads) {
  return ort.InferenceSession.create(file, {
    intraOpNumThreads: threads, interOpNumThreads: 1, executionMode: 'sequential', graphOptimizationLevel: 'all', executionProviders: ['cpu'],
  })
}

function feedsOf(inputs) {
  const feeds = {}
  for (const i of inputs) {
    const b = fs.readFileSync(i.file)
    const copy = b.buffer.slice(b.byteOffset, b.byteOffset + b.length)
    feeds[i.name] = new ort.Tensor(i.dtype, new arrays[i.dtype](copy), i.shape)
  }
  return feeds
}

// worker is the child process that holds ONNX Runtime: a line on its input is a number of milliseconds to run for, its
// answer the median of an inference in ns.
async function worker(job) {
  const { file, threads, inputs, outputs } = JSON.parse(fs.readFileSync(job))
  const s = await session(file, threads)
  const feeds = feedsOf(inputs)
  const got = await s.run(feeds)
  fs.writeFileSync(outputs, JSON.stringify(Object.entries(got).map(([name, t]) => ({ name, type: t.type, dims: t.dims, data: Array.from(t.data, Number) }))))
  console.log('ready')
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const ns = []
    for (const end = performance.now() + Number(line); performance.now() < end || ns.length < 3;) {
      const from = process.hrtime.bigint()
      await s.run(feeds)
      ns.push(Number(process.hrtime.bigint() - from))
    }
    console.log(median(ns))
  }
}

// inputsOf are the inputs of a model with a file for each: those of its case, or made up for the shapes of the model.
async function inputsOf(model, file, dir) {
  const list = fs.statSync(model).isDirectory() ? JSON.parse(fs.readFileSync(path.join(model, 'case.json'))).inputs : null
  if (list) return list.map(({ name, dtype, shape, file }) => ({ name, dtype, shape, file: path.join(path.resolve(model), file) }))
  const s = await session(file, 1)
  return s.inputMetadata.map(({ name, type, shape }, k) => {
    if (shape.some((d) => typeof d !== 'number' || d < 0)) fail(`${file}: input ${name} has no fixed shape: give the model as a folder with case.json`)
    const n = shape.reduce((a, d) => a * d, 1)
    const a = new arrays[type](n)
    for (let i = 0; i < n; i++) a[i] = type === 'float32' || type === 'float64' ? ((i * 7919 + 13) % 2001) / 1000 - 1 : type === 'int64' ? BigInt(i % 2) : i % 2
    const to = path.join(dir, `input_${k}.bin`)
    fs.writeFileSync(to, Buffer.from(a.buffer))
    return { name, dtype: type, shape, file: to }
  })
}

function npu(args) {
  const r = spawnSync(process.env.NPU ?? fail('NPU is not set: the npu binary'), args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (r.status !== 0) fail(`npu ${args.join(' ')}: ${r.stderr}`)
  return r.stdout
}

function readNpy(file) {
  const b = fs.readFileSync(file)
  const header = b.subarray(10, 10 + b.readUInt16LE(8)).toString('latin1')
  const type = { '<f4': Float32Array, '<f8': Float64Array, '<i8': BigInt64Array, '<i4': Int32Array, '|b1': Uint8Array, '|u1': Uint8Array, '|i1': Int8Array }[/'descr': '([^']+)'/.exec(header)[1]]
  const at = 10 + b.readUInt16LE(8)
  return Array.from(new type(b.buffer.slice(b.byteOffset + at, b.byteOffset + b.length)), Number)
}

// differ is the largest difference of the outputs, as a share of the largest value of the output.
function differ(args, outputs, dir) {
  const report = JSON.parse(npu(['run', ...args, '-o', dir, '--json']))
  let worst = 0
  for (const o of JSON.parse(fs.readFileSync(outputs))) {
    const ours = report.outputs.find((x) => x.name === o.name)
    const got = readNpy(path.isAbsolute(ours.file) ? ours.file : path.resolve(ours.file))
    if (got.length !== o.data.length) fail(`${args[0]}: output ${o.name} has ${got.length} values, ONNX Runtime gives ${o.data.length}`)
    const largest = o.data.reduce((a, x) => Math.max(a, Math.abs(x)), 1e-12)
    for (let i = 0; i < got.length; i++) worst = Math.max(worst, Math.abs(got[i] - o.data[i]) / largest)
  }
  return worst
}

async function measure(model, threads, o) {
  const dir = fs.mkdtempSync(path.join(tmpdir(), 'ort-'))
  const folder = fs.statSync(model).isDirectory()
  const file = path.resolve(folder ? path.join(model, 'model.onnx') : model)
  const inputs = await inputsOf(model, file, dir)
  const job = path.join(dir, 'job.json')
  const outputs = path.join(dir, 'outputs.json')
  fs.writeFileSync(job, JSON.stringify({ file, threads, inputs, outputs }))
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--worker', job], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // Without these, large outputs are given back to the system and page-faulted anew in each run.
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: '1073741824', MALLOC_TRIM_THRESHOLD_: '4294967296' },
  })
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const theirs = async (ms) => {
    child.stdin.write(`${ms}\n`)
    return Number((await lines.next()).value)
  }
  if ((await lines.next()).value !== 'ready') fail(`${file}: ONNX Runtime did not start`)
  const args = [file, '--threads', threads, ...inputs.flatMap((i) => ['--shape', `${i.name}=${i.shape.join('x')}`, '-i', `${i.name}=${i.file}`])].map(String)
    .filter((x, i, all) => !(x === '--shape' && all[i + 1].endsWith('=')) && !(all[i - 1] === '--shape' && x.endsWith('=')))
  const difference = differ(args, outputs, path.join(dir, 'out'))
  await theirs(o.ms)
  const rounds = []
  for (let r = 0; r < o.rounds; r++) {
    const a = await theirs(o.ms)
    const b = JSON.parse(npu(['bench', 'model', ...args, '--count', '1', '--duration', `${o.ms}ms`, '--json']))[0].ns_per_op
    rounds.push({ ort: a, npu: b })
  }
  child.stdin.end()
  fs.rmSync(dir, { recursive: true })
  const name = folder ? path.basename(path.resolve(model)) : path.basename(file, '.onnx')
  return {
    name, threads, ratio: round(median(rounds.map((x) => x.ort / x.npu)), 4), ort_ns: Math.round(median(rounds.map((x) => x.ort))),
    npu_ns: Math.round(median(rounds.map((x) => x.npu))), largest_difference: round(difference, 3),
  }
}

const round = (x, digits) => Number(x.toPrecision(digits))

function table(j) {
  const row = (m) => `| ${m.name} | ${m.threads} | ${(m.ort_ns / 1e3).toFixed(0)} | ${(m.npu_ns / 1e3).toFixed(0)} | ${m.ratio.toFixed(2)} | ${m.largest_difference.toExponential(1)} |`
  return [
    '# Against ONNX Runtime', '',
    'Written by `docs/benchmarks/ort.mjs`; how to run it stands at its head.', '',
    `${j.machine}; onnxruntime-node ${j.onnxruntime_node}; ${j.rounds} rounds of ${j.ms} ms each, in turns. Ratio: ONNX Runtime's time over that of \`npu bench model\`, above 1 npu is the faster. Difference: largest one between the outputs, as a share of the largest value.`, '',
    '| model | threads | ONNX Runtime µs | npu µs | ratio | difference |', '| --- | ---: | ---: | ---: | ---: | ---: |',
    ...j.models.map(row), '',
    ...Object.entries(j.geomean).map(([t, r]) => `Geometric mean with ${t} thread${t === '1' ? '' : 's'}: **${r.toFixed(2)}**.`), '',
  ].join('\n')
}

async function main(argv) {
  const o = { rounds: 7, ms: 400, threads: [1, 2], out: 'ort', models: [] }
  for (let i = 0; i < argv.length; i++) {
    if (argv[i] === '--rounds') o.rounds = Number(argv[++i])
    else if (argv[i] === '--ms') o.ms = Number(argv[++i])
    else if (argv[i] === '--threads') o.threads = argv[++i].split(',').map(Number)
    else if (argv[i] === '--out') o.out = argv[++i]
    else o.models.push(argv[i])
  }
  if (o.models.length === 0) fail('no model given')
  const models = []
  for (const threads of o.threads) {
    for (const m of o.models) {
      models.push(await measure(m, threads, o))
      const x = models.at(-1)
      console.error(`${x.name} ${threads}: ${(x.ort_ns / 1e3).toFixed(0)} µs against ${(x.npu_ns / 1e3).toFixed(0)}, ratio ${x.ratio}, difference ${x.largest_difference}`)
    }
  }
  const j = {
    machine: `${cpus()[0].model}, ${cpus().length} cores`,
    onnxruntime_node: JSON.parse(fs.readFileSync(path.join(ortDir, 'node_modules/onnxruntime-node/package.json'))).version,
    rounds: o.rounds, ms: o.ms, models,
    geomean: Object.fromEntries(o.threads.map((t) => [t, round(geomean(models.filter((m) => m.threads === t).map((m) => m.ratio)), 4)])),
  }
  fs.writeFileSync(path.resolve(here, `${o.out}.json`), JSON.stringify(j, null, 1) + '\n')
  fs.writeFileSync(path.resolve(here, `${o.out}.md`), table(j))
}

if (process.argv[2] === '--worker') await worker(process.argv[3])
else await main(process.argv.slice(2))
