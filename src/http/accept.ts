import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/*
 * What a client would rather have, by the weights that it gives (RFC 9110, sections 12.4.2 to 12.5.3).
 */

/**
 * Whether a client that sends this `Accept` prefers `type` to `other`: by the weights of the ranges that fit them
 * most closely. Of equal weights, the type wins that is fitted more closely, so that `text/html, *\/*` prefers HTML.
 * Who says nothing, or takes anything, prefers neither.
 */
export function prefers(accept: string | undefined, type: string, other: string): boolean {
  const ranges = parseWeighted(accept);
  const [wanted, rival] = [closestFit(ranges, type), closestFit(ranges, other)];
  if (wanted.weight !== rival.weight) return wanted.weight > rival.weight;
  return wanted.weight > 0 && wanted.closeness > rival.closeness;
}

/** Whether a client that sends this `Accept` names `type` itself, and does not rule it out with `q=0`. */
export function acceptsExplicitly(accept: string | undefined, type: string): boolean {
  return parseWeighted(accept).some(({ name, weight }) => name === type && weight > 0);
}

/**
 * The one of `codings` that a client that sends this `Accept-Encoding` gives the most weight, the first of equal ones;
 * undefined where it takes none of them.
 */
export function preferredCoding<Coding extends string>(
  acceptEncoding: string | undefined,
  codings: readonly Coding[],
): Coding | undefined {
  const taken = parseWeighted(acceptEncoding);
  const weightOf = (coding: Coding) =>
    (taken.find(({ name }) => name === coding) ?? taken.find(({ name }) => name === '*'))?.weight ?? 0;
  const [best] = codings.filter((coding) => weightOf(coding) > 0).toSorted((a, b) => weightOf(b) - weightOf(a));
  return best;
}

interface Weighted {
  readonly name: string;
  /** From 0, "not acceptable", to 1. */
  readonly weight: number;
}

/** The elements of a list with weights. One whose weight is none is left out. */
function parseWeighted(header = ''): Weighted[] {
  return header
    .split(',')
    .map((element) => {
      const [name = '', ...parameters] = element.split(';').map((part) => part.trim().toLowerCase());
      const weight = parameters.find((parameter) => parameter.startsWith('q='));
      return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) };
    })
    .filter(({ name, weight }) => name !== '' && weight >= 0 && weight <= 1);
}

/**
 * The weight of the range that fits a type most closely, the largest of several; no weight where none fits. Other
 * parameters of a range say which variant of the type is meant, and there is one only.
 */
function closestFit(ranges: readonly Weighted[], type: string): { weight: number; closeness: number } {
  const [kind = ''] = type.split('/');
  // Programs write a lone `*` as well.
  const fitting: readonly (readonly string[])[] = [['*/*', '*'], [`${kind}/*`], [type]];
  for (const closeness of [2, 1, 0]) {
    const weights = ranges.filter(({ name }) => fitting[closeness]?.includes(name)).map(({ weight }) => weight);
    if (weights.length > 0) return { weight: Math.max(...weights), closeness };
  }
  return { weight: 0, closeness: 0 };
}

/** How hard Brotli tries, of 11: beyond, a long listing takes longer to compress than it saves on its way. */
const BROTLI_QUALITY = 4;

/** A body as a client that sends this `Accept-Encoding` would like it best, and its `Content-Encoding`, if any. */
export async function compress(
  text: string,
  acceptEncoding: string | undefined,
): Promise<{ body: Buffer; coding: 'br' | 'gzip' | undefined }> {
  const bytes = Buffer.from(text);
  const coding = preferredCoding(acceptEncoding, ['br', 'gzip']);
  switch (coding) {
    case 'br':
      return { coding, body: await brotli(bytes, { params: brotliParameters(bytes.length) }) };
    case 'gzip':
      return { coding, body: await promisify(gzip)(bytes) };
    case undefined:
      return { coding, body: bytes };
  }
}

const brotli = promisify(brotliCompress);

const brotliParameters = (size: number) => ({
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
  [constants.BROTLI_PARAM_SIZE_HINT]: size,
});
