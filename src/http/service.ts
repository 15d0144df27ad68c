import type { Audit } from '../access/audit.ts';
import type { AppToken } from '../app-tokens/app-token.ts';
import type { AppTokenLookup } from '../app-tokens/app-token-lookup.ts';
import type { AppTokens } from '../app-tokens/app-tokens.ts';
import type { ChangeFeed } from '../changes/feed.ts';
import type { ChangeRecorder } from '../changes/recorder.ts';
import type { Database } from '../database/database.ts';
import type { RevocationWatch } from '../database/revocation-watch.ts';
import type { ClutterPolicy } from '../dav/clutter.ts';
import type { Locks } from '../dav/locks.ts';
import type { Properties } from '../dav/properties.ts';
import type { Files } from '../files/files.ts';
import type { JobQueue } from '../jobs/queue.ts';
import type { Link } from '../links/link.ts';
import type { LinkedItems } from '../links/linked-items.ts';
import type { Links } from '../links/links.ts';
import type { SealedCursors } from '../links/sealed-cursors.ts';
import type { MediaDetails } from '../media/media.ts';
import type { NameComparison } from '../model/name-comparison.ts';
import type { FilePath, FolderPath } from '../model/path.ts';
import type { Store } from '../model/store.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracer } from '../observability/tracer.ts';
import type { Thumbnails } from '../thumbnails/thumbnails.ts';
import type { Uploads } from '../uploads/uploads.ts';
import type { WriteLeases } from '../uploads/write-lease.ts';
import type { AddressPolicy } from '../webhooks/address-policy.ts';
import type { Deliveries } from '../webhooks/deliveries.ts';
import type { Sender } from '../webhooks/sender.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { AccessControl } from './access/authentication.ts';
import type { CorsOrigins } from './access/cors.ts';
import type { LinkSessions } from './access/link-session.ts';
import type { Limits } from './limits/limits.ts';
import type { WebPage } from './page/web-page.ts';
import type { VolumeName } from './schemas.ts';
import type { SignedUrls } from './signed-urls.ts';

/** Everything that the routes need. */
export interface Service {
  readonly files: Files;
  readonly thumbnails: Thumbnails;
  /** Reads what the headers of images say. */
  readonly media: MediaDetails;
  /** Verifies the service's own signed URLs; undefined if the service has none. */
  readonly signedUrls?: SignedUrls | undefined;
  /** The web UI, for users who open a folder in a browser. */
  readonly page: WebPage;
  /** The origins of the store's presigned and public URLs, except the service's own. */
  readonly contentOrigins: readonly string[];
  /** Whether browsers can install the web UI. Otherwise, an installed service worker removes itself. */
  readonly isInstallable: boolean;
  /** Whether every change is refused. The web UI then offers none. */
  readonly readOnly: boolean;
  /** Maximum size of an upload in bytes; undefined if only the store has a limit. */
  readonly maxUploadSize?: number | undefined;
  /** The trash; null if deletes are permanent. `days` is null if nothing removes its items, such as in a branch. */
  readonly trash: { readonly days: number | null } | null;
  /** Whether the earlier contents of replaced files are kept as versions. */
  readonly keepsVersions: boolean;
  /** Authentication and permissions. */
  readonly access: AccessControl;
  /** Records sign-ins, refusals and changes. */
  readonly audit: Audit;
  /** Whether `audit` also records which contents were read. */
  readonly auditReads: boolean;
  /** What the store can't hold; undefined if the service has no database. */
  readonly database?: Database | undefined;
  /** Operations that continue after their request; undefined if the service has no database. */
  readonly jobs?: JobQueue | undefined;
  /** The change log; undefined if the service has no database. */
  readonly changes?:
    | { readonly recorder: ChangeRecorder; readonly feed: ChangeFeed; readonly identify: Store['identify'] }
    | undefined;
  /** The webhooks; undefined if the service has no database. */
  readonly webhooks?: WebhookService | undefined;
  /** The share links; undefined if the service has no database. */
  readonly links?: LinkService | undefined;
  /** The app tokens; undefined if the service has no database. */
  readonly appTokens?: AppTokenService | undefined;
  /** Uploads whose content arrives in several requests; undefined if the store has none, or the service no database. */
  readonly uploads?: UploadService | undefined;
  /** Locks and properties of files, and how WebDAV clients are served; undefined if the service has no database. */
  readonly dav?: DavService | undefined;
  /** The URL at which users reach the service, if it is configured. */
  readonly publicUrl: string | undefined;
  /** The path prefix of all request URLs, without a trailing `/`; empty if there is none. */
  readonly basePath: string;
  /** Whether the description of the HTTP API is served. */
  readonly apiDocs: boolean;
  /** Where to report vulnerabilities; undefined if not configured. */
  readonly security: SecurityContact | undefined;
  /** The separate origin for file contents, if there is one. */
  readonly contentOrigin: string | undefined;
  /** The other origins whose pages may call the service; undefined if none may. */
  readonly corsOrigins: CorsOrigins | undefined;
  /** The limits for one client and for all clients together. */
  readonly limits: Limits;
  /** The metrics and their token; undefined if metrics are disabled. */
  readonly metrics?: ServiceMetrics | undefined;
  /** The volumes that the service uses; undefined if it does not watch their space. */
  readonly volumes?: { findAlmostFull(): Promise<readonly VolumeName[]> } | undefined;
  /** Traces requests; undefined if tracing is disabled. */
  readonly tracer?: Tracer | undefined;
}

/** The webhooks: their tables, and how messages are sent. */
export interface WebhookService {
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly sender: Sender;
  readonly addresses: AddressPolicy;
}

/** The share links: their table, their items, and what belongs to their visitors. */
export interface LinkService {
  readonly table: Links;
  readonly items: LinkedItems;
  /** The sessions of visitors who have entered a password. */
  readonly sessions: LinkSessions;
  /** Ends requests of visitors when their link is revoked. */
  readonly watch: RevocationWatch<Link>;
  /** Encrypts the cursors of listings for the visitors of a link. */
  cursorsOf(link: Link): SealedCursors;
  /** The key of signed URLs. Each link has one that is derived from it. */
  readonly urlKey: Buffer;
}

/** What WebDAV adds to files. */
export interface DavService {
  readonly locks: Locks;
  readonly properties: Properties;
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Called if the locks and properties of changed files could not be changed. */
  readonly onError: (error: unknown) => void;
  /** Whether `/-/dav/` is served. Locks remain in force without it. */
  readonly isServed: boolean;
  /** Whether a large file is a redirect to a presigned URL. */
  readonly redirects: boolean;
  /** Whether the store itself refuses a file with the name of a folder, and reports whether a file is new. */
  readonly findsConflicts: boolean;
  /** Whether the store can change modification times. */
  readonly setsTimes: boolean;
  readonly clutter: ClutterPolicy;
  /** Returns whether listings omit a path for everyone except WebDAV clients; undefined if they omit none. */
  readonly isHidden: ((path: FilePath | FolderPath) => boolean) | undefined;
}

/** The app tokens: their table, and what ends requests when a token is revoked. */
export interface AppTokenService {
  readonly table: AppTokens;
  readonly lookup: AppTokenLookup;
  readonly watch: RevocationWatch<AppToken>;
}

/** The uploads whose content arrives in several requests. */
export interface UploadService {
  readonly table: Uploads;
  readonly leases: WriteLeases;
  /** Bytes of the parts in which the web UI uploads large files. */
  readonly partBytes: number;
  /** Maximum bytes of an upload; undefined if only `maxUploadSize` limits them. */
  readonly maxBytes: number | undefined;
  /** How clients send parts to the store itself; undefined if they can't. `expires` is the lifetime of URLs in seconds. */
  readonly direct: (Required<Pick<Store, 'presignParts'>> & { readonly expires: number }) | undefined;
  /** The content of the uploads. */
  readonly contents: Required<Pick<Store, 'createUpload' | 'openUpload'>>;
}

/** The content of `/.well-known/security.txt`. */
export interface SecurityContact {
  /** A URI. */
  readonly contact: string;
  readonly expires: Date;
}

/** Request metrics of all processes of the service. */
export interface ServiceMetrics extends Pick<Metrics, 'requestStarted' | 'requestCompleted'> {
  /** The token that a client must send to read the metrics. */
  readonly token: Buffer;
  /** The metrics of all processes in the Prometheus text format. */
  format(): Promise<{ type: string; text: string }>;
}
