import assert from 'node:assert/strict';
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { type HttpResponse, jsonOf, send } from '../http/client.ts';

/** The part of a JSON schema from which inputs are generated. */
export interface Schema {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

type Content = Readonly<Record<string, { readonly schema: Schema }>>;

/** The description of one method of one path. */
export interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

/** The OpenAPI document of a service. It checks responses against that. */
export interface ApiDocument {
  /** By path, then by method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /**
   * Returns the path of the document that matches a request target; undefined if there is none, or if the target is
   * malformed.
   */
  pathOf(target: string): string | undefined;
  /**
   * Throws unless the document declares the response: its status, its type and its body. A method that a path does not
   * have must return 405 with the methods that it has.
   */
  assertDeclared(method: string, target: string, response: HttpResponse): void;
}

export async function readDocument(port: number, headers: Record<string, string> = {}): Promise<ApiDocument> {
  const { paths } = dereference(jsonOf(await send(port, '/-/openapi.json', { headers }))) as Pick<ApiDocument, 'paths'>;
  const validators = createValidators();
  const pathOf = (target: string) => {
    const path = decoded(target.split(/[?#]/)[0] ?? '');
    if (path === undefined) return undefined;
    if (Object.hasOwn(paths, path)) return path;
    const fitting = Object.keys(paths).filter((each) => each.endsWith('{path}') && path.startsWith(each.slice(0, -6)));
    const longest = fitting.toSorted((a, b) => b.length - a.length)[0];
    // The service reserves all paths below `/-/`.
    return longest === '/{path}' && path.startsWith('/-/') ? undefined : longest;
  };
  return {
    paths,
    pathOf,
    assertDeclared(method, target, response) {
      const path = pathOf(target);
      const operations = path === undefined ? undefined : paths[path];
      if (!operations) return assertKnownFailure(response);
      // HEAD exists for every GET (RFC 9110, section 9.3.2).
      const operation = operations[method.toLowerCase()] ?? (method === 'HEAD' ? operations['get'] : undefined);
      if (operation) return assertDescribed(operation, method, response, validators);
      const allowed = Object.keys(operations).map((each) => each.toUpperCase());
      if (response.status === 405 || response.status === 204) {
        const given = String(response.headers.allow).split(', ');
        for (const each of allowed) assert.ok(given.includes(each), `Allow: ${given.join(', ')}`);
      }
      if (response.status !== 204) return assertKnownFailure(response);
      return assert.equal(method, 'OPTIONS');
    },
  };
}

/** Returns an OpenAPI document with each reference to a component replaced by the component. */
export function dereference(document: Readonly<Record<string, unknown>>): unknown {
  const components = document['components'] as Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  const resolved = new Map<string, unknown>();
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== 'object' || value === null) return value;
    if (!('$ref' in value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, resolve(item)]));
    const reference = String(value.$ref);
    if (resolved.has(reference)) return resolved.get(reference);
    const [, kind = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(reference) ?? [];
    const component = components[kind]?.[name];
    assert.ok(component, `${reference} exists.`);
    resolved.set(reference, resolve(component));
    return resolved.get(reference);
  };
  return resolve(document);
}

function assertDescribed(operation: Operation, method: string, response: HttpResponse, validatorOf: ValidatorOf): void {
  const { status, body } = response;
  const { responses } = operation;
  const declared = responses[status] ?? responses[`${Math.floor(status / 100)}XX`];
  assert.ok(declared, `The status ${status} is not declared.`);
  if (!declared.content) return assert.equal(body.length, 0, 'A body is not declared.');
  const type = String(response.headers['content-type']).split(';')[0] ?? '';
  const content = declared.content[type] ?? declared.content['*/*'];
  assert.ok(content, `The type ${type} is not declared for ${status}.`);
  if (method === 'HEAD') return assert.equal(body.length, 0, 'HEAD has no body.');
  for (const value of valuesOf(type, body)) {
    const validate = validatorOf(content.schema);
    assert.ok(validate(value), `${JSON.stringify(validate.errors)} ${JSON.stringify(value)}`);
  }
  return status >= 400 && type === 'application/json' ? assertEnvelope(response) : undefined;
}

/** Returns the values to which schemas apply: the JSON, or each line of it. Other bodies are not parsed. */
function valuesOf(type: string, body: Buffer): unknown[] {
  if (type === 'application/json') return [JSON.parse(body.toString())];
  if (type === 'application/x-ndjson')
    return body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  return type === 'text/html' ? [body.toString()] : [];
}

/** Asserts that the response is a client error, such as one that precedes routing. */
function assertKnownFailure(response: HttpResponse): void {
  assert.ok(response.status >= 400 && response.status < 500, `The status is ${response.status}.`);
  if (String(response.headers['content-type']).startsWith('application/json')) assertEnvelope(response);
  else assert.match(String(response.headers['content-type']), /^text\/html/);
}

/** Asserts that the response is an error envelope. For HEAD, only the headers can be checked. */
export function assertEnvelope(response: HttpResponse): void {
  if (response.body.length === 0 && response.headers['content-length'] !== '0') return;
  const json = jsonOf(response);
  assert.deepEqual(Object.keys(json), ['success', 'code', 'error']);
  assert.equal(json['success'], false);
  assert.ok(typeof json['error'] === 'string' && json['error'].isWellFormed() && json['error'] !== '');
}

/** Asserts the headers of every response. */
export function assertCommonHeaders({ status, headers }: HttpResponse): void {
  assert.match(String(headers['x-request-id'] ?? ''), /^[\w.:-]{1,128}$/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  assert.ok(status < 500 || status === 501, `The status is ${status}.`);
}

type ValidatorOf = (schema: Schema) => ValidateFunction;

const isTime = (text: string) => new Date(text).toISOString() === text;

// Without the optimization, which takes longer than all validations of a test.
const ajv = new Ajv2020({ strict: false, formats: { 'date-time': isTime, binary: true }, code: { optimize: false } });

/** The validators of all documents, by their schemas as JSON: the documents of all services have almost the same schemas. */
const compiled = new Map<string, ValidateFunction>();

/** Compiles each schema once. */
function createValidators(): ValidatorOf {
  const known = new Map<Schema, ValidateFunction>();
  return (schema) => {
    const found = known.get(schema) ?? compile(schema);
    known.set(schema, found);
    return found;
  };
}

function compile(schema: Schema): ValidateFunction {
  const json = JSON.stringify(schema);
  const validate = compiled.get(json) ?? ajv.compile(schema);
  compiled.set(json, validate);
  return validate;
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
