import * as fc from 'fast-check';
import { BOUNDARY, type FormPart, formOf } from '../http/client.ts';
import type { ApiDocument, Operation, Schema } from './document.ts';
import { type Header, hostileHeaders } from './hostile-headers.ts';
import { hostileJson, hostileNumber, hostileText } from './hostile-texts.ts';

/** The parts of a fuzzed request. */
export interface FuzzedRequest {
  readonly method: string;
  /** The target in the request line. */
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body?: Buffer | undefined;
  /** The file of a form. */
  readonly file?: string | undefined;
}

/** Paths for fuzzed requests: existing files and folders, and missing ones. */
export interface PathSamples {
  readonly files: readonly string[];
  readonly folders: readonly string[];
  readonly missing: readonly string[];
}

/** Requests of every method of every path of the document: valid ones, and ones with mistakes. */
export function requestsOf({ paths }: Pick<ApiDocument, 'paths'>, places: PathSamples): fc.Arbitrary<FuzzedRequest> {
  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  return fc.oneof(
    ...described.map(({ path, method, operation }) =>
      fc
        .record({
          method: fc.oneof({ weight: 12, arbitrary: fc.constant(method) }, { weight: 1, arbitrary: anyMethod }),
          target: targetOf(path, operation, places),
          sent: bodyOf(operation, places),
          more: fc.oneof(fc.constant<Header[]>([]), hostileHeaders),
        })
        .map(requestOf),
    ),
  );
}

interface Chunks {
  readonly method: string;
  readonly target: string;
  readonly sent: Body;
  readonly more: readonly Header[];
}

/** Returns a request in which the given headers replace the default ones. */
function requestOf({ method, target, sent: { type, body, file }, more }: Chunks): FuzzedRequest {
  const given = new Set(more.map(([name]) => name.toLowerCase()));
  const own: Header[] = [['Host', 'localhost']];
  if (type !== undefined) own.push(['Content-Type', type]);
  if (body !== undefined) own.push(['Content-Length', String(body.length)]);
  const headers = [...own.filter(([name]) => !given.has(name.toLowerCase())), ...more];
  return { method, target, headers, body, file };
}

export function bytesOf({ method, target, headers, body }: FuzzedRequest): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)]);
}

const anyMethod = fc.constantFrom(
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'MKCOL',
  'COPY',
  'QUERY',
);

const placeIn = ({ files, folders, missing }: PathSamples) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...files) },
    { weight: 3, arbitrary: fc.constantFrom(...folders) },
    { weight: 2, arbitrary: fc.constantFrom(...missing) },
    { weight: 4, arbitrary: hostileText },
  );

/** Returns the path and the query, with valid or invalid escapes. */
function targetOf(path: string, { parameters = [] }: Operation, places: PathSamples): fc.Arbitrary<string> {
  const filled = escapedOf(placeIn(places)).map((place) => path.replace('{path}', () => place));
  const query = fc.tuple(
    ...parameters
      .filter((parameter) => parameter.in === 'query')
      .map(({ name, schema }) => fc.option(queryOf(name, schema, places), { freq: 1, nil: '' })),
    fc.oneof(
      { weight: 9, arbitrary: fc.constant('') },
      { weight: 1, arbitrary: fc.constantFrom('a', '=', '%ff', 'a[]=1', '__proto__=1', '?', '&&', 'x='.repeat(300)) },
    ),
  );
  return fc.tuple(filled, query).map(([place, fields]) => {
    const all = fields.filter((field) => field !== '').join('&');
    return all === '' ? place : `${place}?${all}`;
  });
}

function queryOf(name: string, schema: Schema, places: PathSamples): fc.Arbitrary<string> {
  const value = schema.type === 'integer' ? fc.oneof(hostileNumber, fc.constantFrom('1', '2', '3')) : placeIn(places);
  return fc
    .tuple(escapedOf(value), fc.constantFrom('', '', '', `&${name}=1`, `&${name}[]=1`))
    .map(([text, again]) => `${name}=${text}${again}`);
}

/** Returns a text with the escapes of a URL, valid or not. A lone surrogate is encoded as if UTF-8 allowed that. */
const escapedOf = (text: fc.Arbitrary<string>) => fc.tuple(text, writing).map(([plain, write]) => write(plain));

const escape = (text: string) =>
  text
    .split('/')
    .map((part) => encodeURIComponent(part.toWellFormed()).replaceAll('%EF%BF%BD', '%ED%A0%80'))
    .join('/');

const writing = fc.oneof(
  { weight: 6, arbitrary: fc.constant(escape) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      (text: string) => escape(text).replaceAll('/', '%2F'),
      (text: string) => escape(text).replaceAll('%', '%25'),
      // Not escaped, without the characters that a request line can't contain.
      (text: string) => text.replaceAll(/[^\x21-\x7e]/gu, ''),
    ),
  },
);

interface Body {
  readonly type?: string | undefined;
  readonly body?: Buffer | undefined;
  readonly file?: string | undefined;
}

function bodyOf({ requestBody }: Operation, places: PathSamples): fc.Arbitrary<Body> {
  const stray = fc.constantFrom<Body>(
    { type: 'application/json', body: Buffer.from('{"path":"stray"}') },
    { type: 'text/plain', body: Buffer.from('stray') },
    { type: 'multipart/form-data; boundary=x', body: Buffer.from('--x--\r\n') },
    { body: Buffer.from([0xff, 0, 0x0d, 0x0a]) },
    {},
  );
  const { 'application/json': json, 'multipart/form-data': form } = requestBody?.content ?? {};
  if (json) return fc.oneof({ weight: 9, arbitrary: jsonFor(json.schema, places) }, { weight: 1, arbitrary: stray });
  if (form) return fc.oneof({ weight: 9, arbitrary: formFor(places) }, { weight: 1, arbitrary: stray });
  return fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: stray });
}

/** Objects that match the schema, and objects with missing, additional or unexpected values. */
function jsonFor({ properties = {} }: Schema, places: PathSamples): fc.Arbitrary<Body> {
  const fields = Object.entries(properties).map(([name, { type }]) => {
    const right =
      type === 'boolean' ? fc.constantFrom('true', 'false') : placeIn(places).map((text) => JSON.stringify(text));
    const value = fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: hostileJson });
    return fc.option(
      value.map((text) => `${JSON.stringify(name)}:${text}`),
      { freq: 12, nil: '' },
    );
  });
  const extra = fc.tuple(hostileText, hostileJson).map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  const object = fc
    .tuple(...fields, fc.oneof({ weight: 12, arbitrary: fc.constant('') }, { weight: 1, arbitrary: extra }))
    .map((all) => `{${all.filter((field) => field !== '').join(',')}}`);
  const text = fc.oneof({ weight: 12, arbitrary: object }, { weight: 1, arbitrary: hostileJson });
  return text.map((body) => ({ type: 'application/json', body: Buffer.from(body) }));
}

function formFor(places: PathSamples): fc.Arbitrary<Body> {
  const part: fc.Arbitrary<FormPart> = fc.oneof(
    placeIn(places).map((value) => ({ name: 'prefix', value })),
    fc.record({ name: hostileText, value: hostileText }),
  );
  return fc
    .record({
      name: fc.oneof({ weight: 9, arbitrary: fc.constant('file') }, { weight: 1, arbitrary: hostileText }),
      filename: fc.oneof(fc.constantFrom('new.txt', 'a.txt', 'i.png'), placeIn(places)),
      type: fc.option(fc.constantFrom('text/plain', 'x', 'image/png; a="b"', 'multipart/mixed; boundary=x')),
      file: fc.oneof(hostileText, fc.constantFrom(`--${BOUNDARY.slice(1)}`, `\r\n--${BOUNDARY.slice(0, -1)}`)),
      before: fc.array(part, { maxLength: 2 }),
      behind: fc.array(part, { maxLength: 1 }),
    })
    .map(({ name, filename, type, file, before, behind }) => {
      const parts = [...before, { name, filename, value: file, ...(type !== null && { type }) }, ...behind];
      return { type: `multipart/form-data; boundary=${BOUNDARY}`, body: formOf(parts), file };
    });
}
