// Writes ONNX models of single layers, repeated so that a call costs little beside them, for ort.mjs to measure:
//
//   node docs/benchmarks/layers.mjs /tmp/layers && node docs/benchmarks/ort.mjs --out layers /tmp/layers/*.onnx
//
// Weights are a fixed pattern around zero, scaled so that values neither grow nor vanish from layer to layer.
import fs from 'node:fs'
import path from 'node:path'

const varint = (n) => {
  const out = []
  for (let v = BigInt(n); ; v >>= 7n) {
    if (v < 128n) return Buffer.from([...out, Number(v)])
    out.push(Number(v & 127n) | 128)
  }
}
const field = (number, wire, ...parts) => Buffer.concat([varint((number << 3) | wire), ...parts])
const bytes = (number, data) => field(number, 2, varint(data.length), data)
const text = (number, s) => bytes(number, Buffer.from(s))
const int = (number, n) => field(number, 0, varint(n))

const attribute = (name, values) => bytes(5, Buffer.concat([text(1, name), ...values.map((v) => int(8, v)), int(20, 7)]))
const node = (op, inputs, output, attributes = []) =>
  bytes(1, Buffer.concat([...inputs.map((i) => text(1, i)), text(2, output), text(3, output), text(4, op), ...attributes]))
const value = (number, name, shape) => {
  const dims = Buffer.concat(shape.map((d) => bytes(1, int(1, d))))
  return bytes(number, Buffer.concat([text(1, name), bytes(2, bytes(1, Buffer.concat([int(1, 1), bytes(2, dims)])))]))
}
const tensor = (name, shape, scale) => {
  const n = shape.reduce((a, d) => a * d, 1)
  const data = Float32Array.from({ length: n }, (_, i) => (((i * 7919 + 13) % 2001) / 1000 - 1) * scale)
  return bytes(5, Buffer.concat([...shape.map((d) => int(1, d)), int(2, 1), text(8, name), bytes(9, Buffer.from(data.buffer))]))
}

function model(name, input, output, layers) {
  const graph = Buffer.concat([...layers, text(2, name), value(11, 'x', input), value(12, `y${layers.length / 2}`, output)])
  return Buffer.concat([int(1, 8), bytes(7, graph), bytes(8, int(2, 17))])
}

function conv(channels, size, kernel, count) {
  const layers = []
  const shape = [1, channels, size, size]
  for (let i = 1; i <= count; i++) {
    layers.push(node('Conv', [i === 1 ? 'x' : `y${i - 1}`, `w${i}`], `y${i}`, [
      attribute('kernel_shape', [kernel, kernel]), attribute('pads', Array(4).fill((kernel - 1) / 2)),
    ]))
    layers.push(tensor(`w${i}`, [channels, channels, kernel, kernel], 1.7 / Math.sqrt(channels * kernel * kernel)))
  }
  return [`conv${kernel}x${kernel}-${channels}-${size}`, model('conv', shape, shape, layers)]
}

function matmul(rows, widths, label) {
  const layers = []
  for (let i = 1; i < widths.length; i++) {
    layers.push(node('MatMul', [i === 1 ? 'x' : `y${i - 1}`, `w${i}`], `y${i}`))
    layers.push(tensor(`w${i}`, [widths[i - 1], widths[i]], 1.7 / Math.sqrt(widths[i - 1])))
  }
  return [label, model('matmul', [rows, widths[0]], [rows, widths.at(-1)], layers)]
}

const to = process.argv[2] ?? '.'
fs.mkdirSync(to, { recursive: true })
for (const [name, data] of [
  conv(64, 56, 3, 4), conv(128, 28, 3, 4), conv(256, 14, 3, 4), conv(512, 7, 3, 2), conv(256, 56, 1, 2), conv(512, 28, 1, 2),
  matmul(512, [512, 512, 512, 512, 512], 'matmul-512'), matmul(128, Array(9).fill(384), 'matmul-128x384x384'),
  matmul(128, [384, 1536, 384], 'matmul-128x1536x384'),
]) fs.writeFileSync(path.join(to, `${name}.onnx`), data)
