import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

/*
 * GitHub's own description of its API, limited to what the fake uses: see scripts/extract-github-schemas.ts.
 */

type Schema = Readonly<Record<string, unknown>>;

interface Description {
  readonly operations: Readonly<
    Record<
      string,
      {
        readonly request?: Schema;
        /** Schemas by status and media type. */
        readonly responses: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
      }
    >
  >;
  readonly components: Schema;
}

/** Both are read and compiled on first use, once per process. */
let opened: { readonly description: Description; readonly ajv: Ajv } | undefined;
const validators = new Map<string, ValidateFunction>();

/** Returns how a request body violates the description; undefined if it does not. */
export function requestProblem(route: string, body: unknown): string | undefined {
  const schema = open().description.operations[route]?.request;
  if (!schema) return body === undefined ? undefined : `${route} has no request body`;
  return problem(`${route} body`, () => closed(schema), body);
}

/** Returns how a response violates the description, which does not contain all responses. */
export function responseProblem(
  route: string,
  { status, mediaType, body }: { readonly status: number; readonly mediaType: string; readonly body: unknown },
): string | undefined {
  const kinds = open().description.operations[route]?.responses[String(status)];
  const schema = kinds?.[mediaType] ?? kinds?.['application/json'];
  return schema && problem(`${route} ${status} ${mediaType}`, () => schema, body);
}

function problem(name: string, schemaOf: () => Schema, value: unknown): string | undefined {
  const { ajv } = open();
  const validate = validators.get(name) ?? ajv.compile(schemaOf());
  validators.set(name, validate);
  return validate(value) ? undefined : `${name}: ${ajv.errorsText(validate.errors)}`;
}

function open() {
  if (opened) return opened;
  const description: Description = JSON.parse(readFileSync(new URL('schemas.json', import.meta.url), 'utf8'));
  // Each validator checks few values, so that compiling it quickly matters more than its speed.
  const ajv = new Ajv({ strict: false, meta: false, validateSchema: false, code: { optimize: false } });
  ajv.addSchema({ $id: 'github', components: description.components });
  opened = { description, ajv };
  return opened;
}

/** GitHub ignores unknown members, so that a wrong name would remain undetected. */
function closed(schema: Schema): Schema {
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, isSchema(value) ? closed(value) : value]);
  const copy: Schema = Object.fromEntries(entries);
  return isSchema(schema.properties) && schema.type !== undefined ? { ...copy, additionalProperties: false } : copy;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
