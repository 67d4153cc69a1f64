/** Just enough of ONNX's protobuf to write a small graph by hand. @see onnx/onnx.proto */

const VARINT = 0;
const BYTES = 2;

function varint(value: number | bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt(value);
  do {
    const more = rest > 0x7fn;
    bytes.push(Number(rest & 0x7fn) | (more ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return bytes;
}

function field(number: number, value: number | bigint | string | Uint8Array): Buffer {
  if (typeof value === 'number' || typeof value === 'bigint') {
    return Buffer.from([...varint((number << 3) | VARINT), ...varint(value)]);
  }
  const bytes = Buffer.from(value as Uint8Array);
  return Buffer.concat([Buffer.from([...varint((number << 3) | BYTES), ...varint(bytes.length)]), bytes]);
}

const message = (...fields: readonly Buffer[]): Buffer => Buffer.concat(fields);

export const FLOAT = 1;
export const INT64 = 7;

export interface Node {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly ints?: Readonly<Record<string, number | readonly number[]>>;
}

function attribute(name: string, value: number | readonly number[]): Buffer {
  if (typeof value === 'number') return message(field(1, name), field(3, value), field(20, 2));
  return message(field(1, name), ...value.map((int) => field(8, int)), field(20, 7));
}

const node = ({ op, inputs, outputs, ints = {} }: Node): Buffer =>
  message(
    ...inputs.map((name) => field(1, name)),
    ...outputs.map((name) => field(2, name)),
    field(4, op),
    ...Object.entries(ints).map(([name, value]) => field(5, attribute(name, value))),
  );

/** A named constant. */
export function tensor(name: string, dims: readonly number[], values: Float32Array | BigInt64Array): Buffer {
  const type = values instanceof Float32Array ? FLOAT : INT64;
  const raw = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return message(...dims.map((dim) => field(1, dim)), field(2, type), field(8, name), field(9, raw));
}

/** An input or output; a string dimension is free. */
export function valueInfo(name: string, type: number, dims: readonly (number | string)[]): Buffer {
  const shape = message(
    ...dims.map((dim) => field(1, typeof dim === 'number' ? message(field(1, dim)) : message(field(2, dim)))),
  );
  return message(field(1, name), field(2, message(field(1, message(field(1, type), field(2, shape))))));
}

export function model(
  nodes: readonly Node[],
  initializers: readonly Buffer[],
  inputs: readonly Buffer[],
  outputs: readonly Buffer[],
): Buffer {
  const graph = message(
    ...nodes.map((one) => field(1, node(one))),
    field(2, 'tiny'),
    ...initializers.map((one) => field(5, one)),
    ...inputs.map((one) => field(11, one)),
    ...outputs.map((one) => field(12, one)),
  );
  return message(field(1, 8), field(7, graph), field(8, message(field(1, ''), field(2, 13))));
}
