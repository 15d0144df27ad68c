import assert from 'node:assert/strict';

/** A received span. Its IDs are hexadecimal. The first span of a trace has no parent. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Nanoseconds since 1970. */
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Attributes;
  readonly isError: boolean;
  /** The attributes of the resource, which is the service. */
  readonly resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number>>;

/**
 * Returns the spans of an ExportTraceServiceRequest in protobuf. Field numbers are those of
 * https://github.com/open-telemetry/opentelemetry-proto/blob/v1.7.0/opentelemetry/proto/trace/v1/trace.proto
 */
export function readSpans(request: Buffer): CollectedSpan[] {
  return messages(request, 1).flatMap((resourceSpans) => {
    const resource = attributesIn(messages(resourceSpans, 1)[0] ?? Buffer.alloc(0), 1);
    const scopes = messages(resourceSpans, 2);
    return scopes.flatMap((scope) => messages(scope, 2).map((span) => readSpan(span, resource)));
  });
}

function readSpan(span: Buffer, resource: Attributes): CollectedSpan {
  const hex = (field: number) => messages(span, field)[0]?.toString('hex') ?? '';
  const kind = ['internal', 'server', 'client'] as const;
  return {
    traceId: hex(1),
    spanId: hex(2),
    parentSpanId: hex(4) || undefined,
    name: messages(span, 5)[0]?.toString() ?? '',
    kind: kind[Number(numberIn(span, 6)) - 1] ?? assert.fail('A span has a kind that is not known.'),
    start: numberIn(span, 7),
    end: numberIn(span, 8),
    attributes: attributesIn(span, 9),
    isError: messages(span, 15).some((status) => numberIn(status, 3) === 2n),
    resource,
  };
}

/** Reads repeated KeyValue messages. Supports only texts and integers, because the service sends no other values. */
function attributesIn(message: Buffer, field: number): Attributes {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const [name, value = Buffer.alloc(0)] = [messages(pair, 1)[0]?.toString() ?? '', messages(pair, 2)[0]];
      const text = messages(value, 1)[0];
      return [name, text === undefined ? Number(numberIn(value, 3)) : text.toString()];
    }),
  );
}

/** Returns the length-delimited fields with this number: messages, texts and bytes. */
const messages = (message: Buffer, field: number): Buffer[] =>
  [...fieldsOf(message)].flatMap(([number, value]) => (number === field && Buffer.isBuffer(value) ? [value] : []));

/** Returns the last numeric field with this number. Default: 0, which protobuf omits. */
function numberIn(message: Buffer, field: number): bigint {
  let found = 0n;
  for (const [number, value] of fieldsOf(message)) if (number === field && typeof value === 'bigint') found = value;
  return found;
}

/** https://protobuf.dev/programming-guides/encoding/ */
function* fieldsOf(message: Buffer): Generator<[number, bigint | Buffer]> {
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number) => {
    assert.ok(at + length <= message.length, 'A field is longer than its message.');
    return message.subarray(at, (at += length));
  };
  const readers: Readonly<Record<number, () => bigint | Buffer>> = {
    0: varint,
    1: () => bytes(8).readBigUInt64LE(),
    2: () => bytes(Number(varint())),
    5: () => BigInt(bytes(4).readUInt32LE()),
  };
  while (at < message.length) {
    const tag = Number(varint());
    const read = readers[tag & 7] ?? assert.fail(`There is no wire type ${tag & 7}.`);
    yield [tag >> 3, read()];
  }
}
