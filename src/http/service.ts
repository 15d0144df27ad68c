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
import type { WebPage } from './page/web-page.ts';

/** What the routes serve. */
export interface Service {
  readonly files: Files;
  readonly thumbnails: Thumbnails;
  /** Checks the URLs that the service signed itself; absent where the store's presigned URLs lead elsewhere. */
  readonly signer?: UrlSigner | undefined;
  /** What people get who open a folder in a browser. */
  readonly page: WebPage;
  /** Where the store's presigned and public URLs lead, if not to the service itself. */
  readonly contentOrigins: readonly string[];
  /** Whether every change is refused, so that nobody is offered one. */
  readonly readOnly: boolean;
  /** Bytes of the largest upload; undefined where only the store has a limit. */
  readonly maxUploadSize?: number | undefined;
}

/** The application, with the types that its schemas give. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
