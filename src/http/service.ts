import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { Audit } from '../access/audit.ts';
import type { Files } from '../domain/files.ts';
import type { UrlSigner } from '../domain/url-signer.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Thumbnails } from '../thumbnails/thumbnails.ts';
import type { Tracer } from '../tracing/tracer.ts';
import type { AccessControl } from './access/access-control.ts';
import type { Limits } from './limits/limits.ts';
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
  /** Who may reach the service, and what they may do. */
  readonly access: AccessControl;
  /** Where sign-ins, refusals and changes are written down. */
  readonly audit: Audit;
  /** The address by which people reach the service, where it was told. */
  readonly publicUrl: string | undefined;
  /** Whether the description of the HTTP API is served. */
  readonly apiDocs: boolean;
  /** Where to report vulnerabilities; undefined where nobody said. */
  readonly security: SecurityContact | undefined;
  /** The origin of its own for the contents of files, if there is one. */
  readonly contentOrigin: string | undefined;
  /** How much of it one client, and all of them together, may take. */
  readonly limits: Limits;
  /** What is counted, and who may read it; undefined where nothing is. */
  readonly metrics?: ServiceMetrics | undefined;
  /** Where requests are traced; undefined where they are not. */
  readonly tracer?: Tracer | undefined;
}

/** The content of `/.well-known/security.txt`. */
export interface SecurityContact {
  /** A URI. */
  readonly contact: string;
  readonly expires: Date;
}

/** What is counted of requests, by all processes that serve together. */
export interface ServiceMetrics extends Pick<Metrics, 'requestBegan' | 'requestEnded'> {
  /** What a reader has to send. */
  readonly token: Buffer;
  /** What all processes have counted, as Prometheus takes it. */
  format(): Promise<{ type: string; text: string }>;
}

/** The application, with the types that its schemas give. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
