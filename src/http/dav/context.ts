import type { FastifyReply, FastifyRequest } from 'fastify';
import type { GuardedFiles } from '../../access/guard.ts';
import type { Lock, LockHolder } from '../../dav/lock.ts';
import { quoted } from '../../model/error.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { accessOf } from '../access/request-access.ts';
import type { FolderCopyLimiter } from '../limits/folder-copies.ts';
import type { ListingLimiter } from '../limits/limits.ts';
import { hasBody } from '../limits/slow-clients.ts';
import { clientSignal } from '../long-operations.ts';
import { originalUrl } from '../request-url.ts';
import type { DavService, Service } from '../service.ts';
import { discardRest } from '../unread-bodies.ts';
import { RequestBody } from '../uploads/requests.ts';
import { DavError } from './dav-error.ts';
import { type IfList, lockTokensIn, parseIf } from './if-header.ts';
import { type DavUrls, parseTarget, type Target } from './targets.ts';

/** What all requests share. */
export interface DavEnvironment {
  readonly service: Service;
  readonly dav: DavService;
  readonly urls: DavUrls;
  /** See `publicPathOf`. */
  readonly publicPath: string;
  readonly limitListing: ListingLimiter;
  readonly limitFolderCopy: FolderCopyLimiter;
}

export type DavHttpRequest = FastifyRequest<{ Params: { '*'?: string } }>;

/** Maximum bytes of an XML body, and of one of an anonymous client if there are users. */
const MAX_BODY_BYTES = 256 * 1024;
const MAX_ANONYMOUS_BODY_BYTES = 16 * 1024;

/** One request of a WebDAV client. */
export class DavContext {
  readonly environment: DavEnvironment;
  readonly request: DavHttpRequest;
  readonly reply: FastifyReply;
  readonly target: Target;
  /** The lists of the header `If`; empty without the header. */
  readonly ifLists: readonly IfList[];
  readonly holder: LockHolder;
  /** The files as the user of the request sees them, with the locks that the request holds. */
  readonly files: GuardedFiles;
  #signal: AbortSignal | undefined;

  constructor(environment: DavEnvironment, request: DavHttpRequest, reply: FastifyReply) {
    const access = accessOf(request);
    const header = request.headers['if'];
    if (originalUrl(request).includes('#')) {
      // A fragment is never sent. Without it, the URL would name another file or folder.
      throw new DavError(400, 'The request URL has a fragment. Encode "#" as %23.');
    }
    this.environment = environment;
    this.request = request;
    this.reply = reply;
    this.target = parseTarget(request.params['*'] ?? '');
    this.ifLists = typeof header === 'string' ? parseIf(header) : [];
    this.holder = { user: access.user?.name, appToken: access.appToken, tokens: lockTokensIn(this.ifLists) };
    const { tokens } = this.holder;
    this.files = tokens.size === 0 ? access.files : access.filesWithLocks(tokens);
  }

  /** Returns whether the response may describe a lock, with its token and owner. Anonymous users see only locks that they hold. */
  canSeeLock({ token }: Lock): boolean {
    return !accessOf(this.request).isAnonymous || this.holder.tokens.has(token);
  }

  /** Returns whether LOCK may lock a file or folder that exists. */
  canLock(path: FilePath | FolderPath): boolean {
    return !this.environment.service.readOnly && this.files.canManage(path);
  }

  /** Returns whether LOCK may lock everything in a folder (true), nothing (false), or only some of it (undefined). */
  canLockWithin(folder: FolderPath): boolean | undefined {
    return this.environment.service.readOnly ? false : this.files.canLockWithin(folder);
  }

  /** Aborted when the client leaves. */
  get signal(): AbortSignal {
    this.#signal ??= clientSignal(this.reply);
    return this.#signal;
  }

  /** Returns a header, of which several lines are one value. */
  header(name: string): string | undefined {
    return this.request.headers[name]?.toString().trim();
  }

  /** Returns the `Depth` of the request. Throws 400 for a value that is not in `allowed`. The default is the first one. */
  depth<Depth extends '0' | '1' | 'infinity'>(...allowed: readonly [Depth, ...Depth[]]): Depth {
    const text = this.header('depth')?.toLowerCase();
    if (text === undefined) return allowed[0];
    const depth = allowed.find((each) => each === text);
    if (depth !== undefined) return depth;
    throw new DavError(400, `The header Depth is ${quoted(text)}. Send ${allowed.join(' or ')}.`);
  }

  /** Throws 403 if the service is read-only. The store refuses changes of files itself. */
  requireWritable(): void {
    if (this.environment.service.readOnly) throw readOnlyError();
  }

  /** Reads the body of the request. Throws 413 if it is too large. */
  async readBody(): Promise<Buffer> {
    const { raw, headers } = this.request;
    if (!hasBody(headers)) return Buffer.alloc(0);
    const isAnonymous = this.environment.service.access.mode === 'file' && this.holder.user === undefined;
    const maxBytes = isAnonymous ? MAX_ANONYMOUS_BODY_BYTES : MAX_BODY_BYTES;
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of new RequestBody(raw) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) {
        discardRest(raw);
        throw new DavError(413, `The body is larger than ${maxBytes} bytes.`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  /** Returns whether the client prefers short responses (RFC 8144, section 2.1). */
  get isMinimal(): boolean {
    return this.prefers('return=minimal');
  }

  /** Returns whether the header `Prefer` contains a preference. */
  prefers(preference: string): boolean {
    const preferences = this.header('prefer')?.toLowerCase().split(/[,;]/) ?? [];
    return preferences.some((each) => each.replaceAll(/[\s"]/g, '') === preference);
  }
}
