import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/* Content negotiation (RFC 9110, sections 12.4.2 to 12.5.3) and preferences (RFC 7240). */

/**
 * Returns whether a client with this `Accept` prefers `type` to `other`.
 * Each type gets the weight of the most specific range that matches it. If the weights are equal, the more specific
 * match wins, so `text/html, *\/*` prefers HTML. Without the header, or with `*\/*` alone, neither is preferred.
 */
export function prefers(accept: string | undefined, type: string, other: string): boolean {
  const ranges = parseWeighted(accept);
  const [preferred, alternative] = [mostSpecificMatch(ranges, type), mostSpecificMatch(ranges, other)];
  if (preferred.weight !== alternative.weight) return preferred.weight > alternative.weight;
  return preferred.weight > 0 && preferred.specificity > alternative.specificity;
}

/** Returns whether this `Accept` names `type` itself with a weight above 0. */
export function acceptsExplicitly(accept: string | undefined, type: string): boolean {
  return parseWeighted(accept).some(({ name, weight }) => name === type && weight > 0);
}

/**
 * Returns the coding with the highest weight in this `Accept-Encoding`, the first one of equal weights; undefined if
 * the client accepts none of them.
 */
export function preferredCoding<Coding extends string>(
  acceptEncoding: string | undefined,
  codings: readonly Coding[],
): Coding | undefined {
  const accepted = parseWeighted(acceptEncoding);
  const weightOf = (coding: Coding) =>
    (accepted.find(({ name }) => name === coding) ?? accepted.find(({ name }) => name === '*'))?.weight ?? 0;
  const [best] = codings.filter((coding) => weightOf(coding) > 0).toSorted((a, b) => weightOf(b) - weightOf(a));
  return best;
}

/** Returns whether a client with this `Accept-Encoding` accepts a coding. Without the header, it accepts any (RFC 9110, section 12.5.3). */
export function acceptsCoding(acceptEncoding: string | undefined, coding: string): boolean {
  if (acceptEncoding === undefined) return true;
  return preferredCoding(acceptEncoding.replaceAll(/\bx-gzip\b/gi, 'gzip'), [coding]) !== undefined;
}

interface WeightedName {
  readonly name: string;
  /** From 0 (not acceptable) to 1. */
  readonly weight: number;
}

/** Parses a list with weights. Drops elements with an invalid weight. */
function parseWeighted(header = ''): WeightedName[] {
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
 * Returns the highest weight among the most specific ranges that match a type; 0 if none matches. Ignores other range
 * parameters, because each type has only one variant.
 */
function mostSpecificMatch(ranges: readonly WeightedName[], type: string): { weight: number; specificity: number } {
  const [kind = ''] = type.split('/');
  // Some clients send a lone `*`.
  const matchingRanges: readonly (readonly string[])[] = [['*/*', '*'], [`${kind}/*`], [type]];
  for (const specificity of [2, 1, 0]) {
    const weights = ranges
      .filter(({ name }) => matchingRanges[specificity]?.includes(name))
      .map(({ weight }) => weight);
    if (weights.length > 0) return { weight: Math.max(...weights), specificity };
  }
  return { weight: 0, specificity: 0 };
}

/**
 * Returns the value of a preference (RFC 7240, section 2), which is empty if it has none. Returns undefined without the
 * preference. One with parameters is ignored, because the service knows none.
 */
export function preferenceOf({ prefer }: IncomingHttpHeaders, name: string): string | undefined {
  if (prefer === undefined) return undefined;
  const preferences = [prefer].flat().join(',').match(PREFERENCES) ?? [];
  // If a preference is repeated, only the first one counts.
  const first = preferences.find((each) => /^[^=;]*/.exec(each)?.[0].trim().toLowerCase() === name);
  const found = first === undefined ? null : PREFERENCE.exec(first);
  return found ? (found[2] ?? found[1]?.replaceAll(/\\(.)/g, '$1') ?? '') : undefined;
}

/** Matches one preference without parameters, and captures its value: a quoted string or a token. */
const PREFERENCE = /^[^=;]*(?:=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))[ \t]*)?$/;

/**
 * Matches one element of a comma-separated list; commas in quoted strings don't separate. An unclosed string extends to
 * the end.
 */
const PREFERENCES = /(?:"(?:[^"\\]|\\.?)*(?:"|$)|[^",])+/g;

/** Brotli quality, 0 to 11. Above this, compressing a long listing takes longer than the transfer time it saves. */
const BROTLI_QUALITY = 4;

/** Compresses a body with the client's preferred coding. Returns the body and its `Content-Encoding`, if any. */
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
