import { type HttpResponse, jsonOf, postJson } from './client.ts';

/** A path that breaks a rule, and the error message. */
export type WrongPath = readonly [path: string, error: RegExp];

/** Invalid paths that a URL can contain. It can't contain a lone surrogate, because UTF-8 can't encode one. */
export const WRONG_PATHS: readonly WrongPath[] = [
  ['a//b', /empty segment/],
  ['a///b', /empty segment/],
  ['.', /segment "\."/],
  ['./a', /segment "\."/],
  ['a/./b', /segment "\."/],
  ['..', /segment "\.\."/],
  ['../a', /segment "\.\."/],
  ['a/..', /segment "\.\."/],
  ['a/../../b', /segment "\.\."/],
  ['a\u0000b', /control character/],
  ['a\nb', /control character/],
  ['a\rb', /control character/],
  ['a/\tb', /control character/],
  ['\u001f', /control character/],
  ['\u007f', /control character/],
  [segmentsOf(1025), /102[567] bytes.*1024/],
  [`${'é'.repeat(120)}/`.repeat(5).slice(0, -1), /120[456] bytes.*1024/],
];

/** Invalid paths that JSON can contain. */
export const WRONG_PATHS_IN_JSON: readonly WrongPath[] = [
  ...WRONG_PATHS,
  ['a\ud800', /surrogate/],
  ['\udc00/b', /surrogate/],
];

/** Invalid values of `newName`. */
export const WRONG_NAMES: readonly WrongPath[] = [
  ['', /empty/],
  ['/', /contains a "\/"/],
  ['/b', /contains a "\/"/],
  ['b/', /contains a "\/"/],
  ['b/c', /contains a "\/"/],
  ['../b', /contains a "\/"/],
  ['.', /segment "\."/],
  ['..', /segment "\.\."/],
  ['b\u0000', /control character/],
  ['b\n', /control character/],
  ['\u007f', /control character/],
  ['\ud800', /surrogate/],
  ['x'.repeat(1100), /1\d\d\d bytes.*1024/],
];

/** Returns a path of `bytes` bytes, in segments that every store supports. */
export function segmentsOf(bytes: number): string {
  return `${'x'.repeat(200)}/`.repeat(Math.ceil(bytes / 201)).slice(0, bytes - 1) + 'y';
}

/** Returns the maximum length of a path in the store of a service. */
export async function maxPathBytesOf(port: number): Promise<number> {
  return maxPathBytesIn(await postJson(port, '/create_folder', { path: segmentsOf(4095) }));
}

/** Returns the maximum length of a path from the response to a longer one. */
export function maxPathBytesIn(response: HttpResponse): number {
  const { error } = jsonOf(response);
  return Number(/The maximum is (\d+)\.$/.exec(String(error))?.[1]);
}
