import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Files } from '../domain/files.ts';
import type { UrlSigner } from '../domain/url-signer.ts';
import type { Thumbnails } from '../thumbnails/thumbnails.ts';

/** What the routes serve. */
export interface Service {
  readonly files: Files;
  readonly thumbnails: Thumbnails;
  /** Checks the URLs that the service signed itself; absent where the store's presigned URLs lead elsewhere. */
  readonly signer?: UrlSigner | undefined;
}

/** The application, with the types that its schemas give. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
