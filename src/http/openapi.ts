import { OPERATIONS } from './api-operations.ts';
import { CONDITION_HEADERS, type ConditionHeader } from './condition-headers.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

/** An OpenAPI document, or a part of it. */
export type Json = { [key: string]: unknown };

/**
 * Completes an OpenAPI document that was made from the routes: adds operation IDs, examples, and a response for each
 * status of an error, and the headers for conditions; moves schemas with a title to `components/schemas`.
 */
export function completeDocument(document: Json): Json {
  const schemas: Json = { ErrorCode: describeCodes() };
  const { paths, components, ...rest } = document;
  for (const [path, operations] of Object.entries(objectOf(paths))) {
    for (const [method, operation] of Object.entries(objectOf(operations)))
      describeOperation(`${method.toUpperCase()} ${path}`, objectOf(operation));
  }
  const named = nameSchemas(paths, schemas);
  const failure = objectOf(objectOf(schemas['Failure'])['properties']);
  failure['code'] = { $ref: '#/components/schemas/ErrorCode' };
  return { ...rest, paths: named, components: { ...objectOf(components), schemas, parameters: conditionParameters() } };
}

function describeOperation(name: string, operation: Json): void {
  const description = OPERATIONS[name];
  if (!description) throw new Error(`The operation ${name} has no description in api-operations.ts.`);
  const { operationId, errors, conditions = [], request, response } = description;
  operation['operationId'] = operationId;
  if (conditions.length > 0) operation['parameters'] = [...listOf(operation['parameters']), ...conditions.map(referTo)];
  const responses = objectOf(operation['responses']);
  addExample(operation['requestBody'], request);
  addExample(responses['200'], response);
  const fallback = { client: responses['4XX'], server: responses['5XX'] };
  for (const [status, codes] of byStatus(errors))
    responses[status] = describeErrors(codes, objectOf((status < '5' ? fallback.client : fallback.server) ?? {}));
  for (const key of ['4XX', '5XX'])
    if (responses[key]) objectOf(responses[key])['description'] = 'Any other error. `code` tells which.';
}

/** Returns the parameters that operations refer to. */
function conditionParameters(): Json {
  const parameters = Object.entries(CONDITION_HEADERS).map(([name, about]) => [
    name,
    { name, in: 'header', schema: { type: 'string' }, ...about },
  ]);
  return Object.fromEntries(parameters);
}

const referTo = (header: ConditionHeader) => ({ $ref: `#/components/parameters/${header}` });

function addExample(message: unknown, example: object | undefined): void {
  if (example === undefined) return;
  objectOf(objectOf(objectOf(message)['content'])['application/json'])['example'] = example;
}

/** Groups error codes by status, in ascending order. */
function byStatus(errors: readonly ErrorCode[]): [status: string, codes: ErrorCode[]][] {
  const groups = Map.groupBy([...new Set(errors)], (code) => String(ERROR_CODES[code].status));
  return [...groups].toSorted(([left], [right]) => left.localeCompare(right));
}

/** Returns the response of one status, with the media types of `fallback` and an example for each code. */
function describeErrors(codes: readonly ErrorCode[], fallback: Json): Json {
  const description = codes.map((code) => `- \`${code}\`: ${ERROR_CODES[code].meaning}`).join('\n');
  const examples = Object.fromEntries(
    codes.map((code) => [code, { value: { success: false, code, error: ERROR_CODES[code].meaning } }]),
  );
  const content = objectOf(fallback['content'] ?? {});
  const json = objectOf(content['application/json'] ?? {});
  return { ...fallback, description, content: { ...content, 'application/json': { ...json, examples } } };
}

/** Returns `value` with each schema that has a title replaced by a reference to `schemas`, where it is added. */
function nameSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((item) => nameSchemas(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, nameSchemas(item, schemas)]));
  const { title } = copy;
  if (typeof title !== 'string' || !('type' in copy || 'anyOf' in copy)) return copy;
  schemas[title] ??= copy;
  return { $ref: `#/components/schemas/${title}` };
}

/** Returns the schema of error codes, with the documentation of each. */
function describeCodes(): Json {
  const codes = Object.entries(ERROR_CODES).map(([code, { status, meaning, action }]) => ({
    enum: [code],
    title: `${status} ${code}`,
    description: `${meaning} ${action}`,
  }));
  return { type: 'string', title: 'ErrorCode', oneOf: codes };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function objectOf(value: unknown): Json {
  if (typeof value !== 'object' || value === null) throw new TypeError('The OpenAPI document lacks an object.');
  return value as Json;
}
