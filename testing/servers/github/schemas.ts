import { readFileSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';

/*
 * GitHub's own description of its API, as far as the fake uses it: see scripts/extract-github-schemas.ts.
 */

type Schema = Readonly<Record<string, unknown>>;

interface Description {
  readonly operations: Readonly<
    Record<
      string,
      {
        readonly request?: Schema;
        /** By status and media type. */
        readonly responses: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
      }
    >
  >;
  readonly components: Schema;
}

/** Both are read and compiled when they are first needed, once in a process. */
let opened: { readonly description: Description; readonly ajv: Ajv } | undefined;
const validators = new Map<string, ValidateFunction>();

/** What a request's body has against the description; undefined when nothing. */
export function requestProblem(route: string, body: unknown): string | undefined {
  const schema = open().description.operations[route]?.request;
  if (!schema) return body === undefined ? undefined : `${route} takes no body`;
  return problem(`${route} body`, () => closed(schema), body);
}

/** What an answer has against the description, which does not know all answers. */
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

/** GitHub passes over members that it does not know, so that a wrong name would go unnoticed. */
function closed(schema: Schema): Schema {
  const entries = Object.entries(schema).map(([keyword, value]) => [keyword, isSchema(value) ? closed(value) : value]);
  const copy: Schema = Object.fromEntries(entries);
  return isSchema(schema.properties) && schema.type !== undefined ? { ...copy, additionalProperties: false } : copy;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
