import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/*
 * Extracts the schemas of requests and responses from GitHub's description of its REST API. The fake GitHub API of the tests
 * checks every request and response against them. Descriptive texts are omitted.
 *
 *     npm pack @octokit/openapi@23.0.2 && tar -xzf octokit-openapi-23.0.2.tgz
 *     node scripts/extract-github-schemas.ts package/generated/api.github.com.json
 *     npm run format
 */

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
type JsonObject = { readonly [key: string]: Json };

const TARGET = fileURLToPath(new URL('../testing/servers/github/schemas.json', import.meta.url));

const OPERATIONS = [
  'GET /repos/{owner}/{repo}',
  'GET /repos/{owner}/{repo}/branches/{branch}',
  'GET /repos/{owner}/{repo}/git/ref/{ref}',
  'POST /repos/{owner}/{repo}/git/refs',
  'PATCH /repos/{owner}/{repo}/git/refs/{ref}',
  'GET /repos/{owner}/{repo}/git/trees/{tree_sha}',
  'POST /repos/{owner}/{repo}/git/trees',
  'POST /repos/{owner}/{repo}/git/blobs',
  'GET /repos/{owner}/{repo}/git/blobs/{file_sha}',
  'POST /repos/{owner}/{repo}/git/commits',
  'GET /repos/{owner}/{repo}/git/commits/{commit_sha}',
  'GET /repos/{owner}/{repo}/commits',
  'GET /repos/{owner}/{repo}/contents/{path}',
  'PUT /repos/{owner}/{repo}/contents/{path}',
];

/** Keywords that are omitted: texts, and keywords that don't restrict values. GitHub's responses often break `format`. */
const OMITTED_KEYWORDS = new Set([
  'description',
  'example',
  'examples',
  'title',
  'default',
  'deprecated',
  'discriminator',
  'format',
  'nullable',
  'readOnly',
  'x-github-breaking-changes',
]);

const [file] = process.argv.slice(2);
if (file === undefined) throw new Error('node scripts/extract-github-schemas.ts <api.github.com.json>');
const description: Json = JSON.parse(readFileSync(file, 'utf8'));

const schemas: Record<string, Json> = {};
const operations = Object.fromEntries(OPERATIONS.map((operation) => [operation, extractOperation(operation)]));
const source = { package: '@octokit/openapi', version: at(description, 'info', 'version') };
const extracted = { source, operations, components: { schemas } };
writeFileSync(TARGET, `${JSON.stringify(extracted, null, 2)}\n`);

function extractOperation(operation: string): JsonObject {
  const [method = '', path = ''] = operation.split(' ');
  const described = object(at(description, 'paths', path, method.toLowerCase()));
  const { requestBody } = described;
  const responses = Object.entries(object(described.responses)).map(([status, response]) => [
    status,
    extractContent(followed(response)),
  ]);
  return {
    ...(requestBody === undefined ? {} : { request: extractContent(object(requestBody))['application/json'] ?? null }),
    responses: Object.fromEntries(responses),
  };
}

/** Returns the schemas by media type. */
function extractContent(body: JsonObject): JsonObject {
  const kinds = Object.entries(object(body.content ?? {}));
  return Object.fromEntries(kinds.map(([mediaType, kind]) => [mediaType, toJsonSchema(object(object(kind).schema))]));
}

/** Converts a schema of OpenAPI 3.0 to JSON Schema. */
function toJsonSchema(schema: JsonObject): JsonObject {
  if (typeof schema.$ref === 'string') return { $ref: take(schema.$ref) };
  const kept = Object.entries(schema).filter(([keyword]) => !OMITTED_KEYWORDS.has(keyword));
  const converted = Object.fromEntries(kept.map(([keyword, value]) => convert(keyword, value)));
  return schema.nullable === true ? orNull(converted) : converted;
}

function convert(keyword: string, value: Json): readonly [string, Json] {
  if (keyword === 'properties') {
    const properties = Object.entries(object(value));
    return [keyword, Object.fromEntries(properties.map(([name, schema]) => [name, toJsonSchema(object(schema))]))];
  }
  // GitHub's alternatives overlap: an error without details matches both.
  if (keyword === 'oneOf') return ['anyOf', list(value).map((one) => toJsonSchema(object(one)))];
  if (keyword === 'anyOf' || keyword === 'allOf') return [keyword, list(value).map((one) => toJsonSchema(object(one)))];
  const isSchema = keyword === 'items' || keyword === 'additionalProperties';
  return [keyword, isSchema && typeof value !== 'boolean' ? toJsonSchema(object(value)) : value];
}

function orNull(schema: JsonObject): JsonObject {
  if (typeof schema.type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: values } = schema;
  const nullable = { ...schema, type: [schema.type, 'null'] };
  return values === undefined ? nullable : { ...nullable, enum: [...list(values), null] };
}

/** Adds a component and the components that it refers to. Returns the reference to it. */
function take(reference: string): string {
  const name = reference.replace('#/components/schemas/', '');
  if (schemas[name] === undefined) {
    // Added before its references, so that recursive components end the recursion.
    schemas[name] = {};
    schemas[name] = toJsonSchema(object(at(description, 'components', 'schemas', name)));
  }
  return `github${reference}`;
}

function followed(response: Json): JsonObject {
  const { $ref } = object(response);
  return typeof $ref === 'string' ? object(at(description, ...$ref.replace('#/', '').split('/'))) : object(response);
}

function at(value: Json, ...keys: readonly string[]): Json {
  let found = value;
  for (const key of keys) found = object(found)[key] ?? null;
  return found;
}

function object(value: Json | undefined): JsonObject {
  assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value), 'The description has changed.');
  return value as JsonObject;
}

function list(value: Json): readonly Json[] {
  assert.ok(Array.isArray(value), 'The description has changed.');
  return value;
}
