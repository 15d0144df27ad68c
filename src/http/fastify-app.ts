import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import { Ajv, type ValidateFunction } from 'ajv';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';

/** The application, with the types that its schemas provide. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/**
 * Options of an application that sets its own schema compilers. Fastify then does not load its default compilers, which
 * the built service does not contain.
 */
export const WITHOUT_DEFAULT_COMPILERS = {
  schemaController: { compilersFactory: { buildValidator: notLoaded, buildSerializer: notLoaded } },
};

function notLoaded(): never {
  throw new Error('A schema is compiled before setCompilers() is called.');
}

const AJV_OPTIONS = {
  strictTypes: false,
  verbose: true,
  removeAdditional: false,
  useDefaults: false,
  // TypeBox creates valid schemas; validating them would add 30 ms to each start.
  validateSchema: false,
  meta: false,
} as const;

// Shared by all applications of a process, because each keeps the schemas that it has compiled.
const strictValidator = new Ajv({ ...AJV_OPTIONS, coerceTypes: false });
const coercingValidator = new Ajv({ ...AJV_OPTIONS, coerceTypes: true });

/**
 * Sets the validators: no type coercion, except for query strings, which are text. Compiles each schema for its first
 * request, because compiling all of them takes a fifth of the start. A test compiles the schemas of all routes.
 */
export function setCompilers(app: App): void {
  app.setValidatorCompiler(({ schema, httpPart }) =>
    compileOnFirstUse(() => (httpPart === 'querystring' ? coercingValidator : strictValidator).compile(schema)),
  );
  app.setSerializerCompiler(() => JSON.stringify);
}

function compileOnFirstUse(compile: () => ValidateFunction): ValidatorOfPart {
  let compiled: ValidateFunction | undefined;
  const validate: ValidatorOfPart = (data) => {
    compiled ??= compile();
    const isValid = compiled(data);
    validate.errors = compiled.errors;
    return isValid;
  };
  return validate;
}

/** Validates one part of a request. After a failure, Fastify reads `errors`. */
interface ValidatorOfPart {
  (data: unknown): boolean;
  errors?: ValidateFunction['errors'];
}
