import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
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
  throw new Error('A schema was to be compiled before the compilers were set.');
}
