import { createHmac } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor, AuditEvent } from '../../access/audit.ts';
import { GuardedFiles } from '../../access/guard.ts';
import { createLinkPolicy } from '../../access/link-policy.ts';
import { PERMISSIONS, type Permission, type Policy } from '../../access/policy.ts';
import type { Submitter } from '../../access/submitter.ts';
import { lockedError } from '../../dav/lock.ts';
import { ignoreOutage } from '../../dav/lockable-files.ts';
import { withFreeFolders } from '../../files/free-name.ts';
import type { RecordedChange } from '../../files/recorded-files.ts';
import { relativeError, SharedFiles } from '../../files/shared-files.ts';
import { inactiveReasonOf, type Link, type LinkPermission, permissionsOf, usesLeft } from '../../links/link.ts';
import { isStoreError } from '../../model/error.ts';
import { type FilePath, type FolderPath, foldersOf, isFolder, nameOf, parentOf } from '../../model/path.ts';
import type { DownloadGrant } from '../../model/url-signer.ts';
import { HttpError } from '../errors.ts';
import { unknownRoute } from '../failures.ts';
import { LINK_PREFIX, linkTokenOf, pathOf, setLinkId } from '../request-url.ts';
import type { LinkService, Service } from '../service.ts';
import { SignedUrls } from '../signed-urls.ts';
import { type Read, whenSent } from './reads.ts';
import { filesOf, type RequestAccess } from './request-access.ts';

/** Seconds for which the signed URL of a large file is valid. */
const URL_LIFETIME_SECONDS = 5 * 60;

/** Milliseconds after which a request is stale: its link is read again before the request changes anything. */
const STALE_AGE_MS = 1000;

/**
 * Gives a request below the URL of a link the access of that link, and of nothing else. Throws the same 404 for a link
 * that does not exist and for one that visitors can no longer use, and 401 if they must enter the password first.
 */
export async function admitVisitor(
  service: Service,
  links: LinkService,
  { request, reply, token }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly token: string },
): Promise<void> {
  const { config } = request.routeOptions;
  const found = await links.table.findByToken(token);
  if (!found) throw linkGone();
  const link = await links.items.check(found);
  setLinkId(request, link.id);
  const policy = service.access.policy();
  // A link that allows no more downloads says so at its signed URLs.
  const isSigned = config.access === 'signature';
  if (isSigned ? isEnded(link, policy) : inactiveReasonOf(link, policy) !== undefined) throw linkGone();
  const access = new LinkRequestAccess(service, links, { request, reply, link });
  request.access = access;
  const isOpen = isSigned || config.links === 'locked' || links.sessions.isOpen(request, link);
  if (!isOpen) throw new HttpError('link-password-required', 'This link needs a password. Enter it to continue.');
  if (config.links === undefined) throw unknownRoute(request);
  access.admit();
  if (!link.isRecentlyUsed) await links.table.recordUse(link.id);
}

/** Returns whether a link ended for all visitors: it has expired, its item is gone, or its creator lost the permissions that it gives. */
function isEnded(link: Link, policy: Policy): boolean {
  const reason = inactiveReasonOf(link, policy);
  return reason === 'expired' || reason === 'permission' || reason === 'item';
}

/** Returns the error for a link that visitors can't use, whatever the reason. */
function linkGone(): HttpError {
  return new HttpError('link-not-found', 'This link does not exist, or can no longer be used. Ask for a new link.');
}

/** The access of a visitor of a share link. All paths are relative to the shared item. */
export class LinkRequestAccess implements RequestAccess {
  readonly user = undefined;
  readonly isAnonymous = true;
  readonly authMethod = 'link';
  readonly appToken = undefined;
  readonly credential = {};
  readonly #service: Service;
  readonly #links: LinkService;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #link: Link;
  readonly #folder: FolderPath;
  readonly #file: string | undefined;
  readonly #startedAt = performance.now();
  readonly #changes: RecordedChange[] = [];
  #files: GuardedFiles | undefined;
  #isRecorded = false;
  #isAdmitted = false;
  /** The policy of the link, and the policy of the service from which it was created. */
  #policy: { readonly of: Policy; readonly policy: Policy } | undefined;

  constructor(
    service: Service,
    links: LinkService,
    { request, reply, link }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly link: Link },
  ) {
    this.#service = service;
    this.#links = links;
    this.#request = request;
    this.#reply = reply;
    this.#link = link;
    this.#folder = isFolder(link.path) ? link.path : parentOf(link.path);
    this.#file = isFolder(link.path) ? undefined : nameOf(link.path);
  }

  /** The link when the request began. */
  get link(): Link {
    return this.#link;
  }

  /** The permissions that the link gives at this moment. */
  get permissions(): readonly LinkPermission[] {
    return permissionsOf(this.#link, this.#service.access.policy());
  }

  get files(): GuardedFiles {
    this.#files ??= this.#guardedFiles();
    return this.#files;
  }

  get changes(): readonly RecordedChange[] {
    return this.#changes;
  }

  /** Returns the path in the store. */
  fullPath<Path extends FilePath | FolderPath>(path: Path): Path {
    return (this.#folder + path) as Path;
  }

  /** Runs an operation with full paths, and throws its errors with relative ones. */
  async withFullPaths<Result>(operation: () => Promise<Result>): Promise<Result> {
    try {
      return await operation();
    } catch (error) {
      throw isStoreError(error) ? relativeError(error, this.#folder) : error;
    }
  }

  /**
   * Returns a path for an upload of a visitor who sees nothing: no folder in it has the name of a file, is locked, unreadable or one
   * of `taken`. Throws `locked` if the shared folder itself is locked, whether or not the lock forbids just this upload.
   */
  async freePath(wanted: FilePath, taken: ReadonlySet<FolderPath>): Promise<FilePath> {
    const root = this.#folder;
    const findLock = async (folder: FolderPath) => {
      const found = await this.#service.dav?.locks.covering(folder).catch(ignoreOutage);
      return found?.[0];
    };
    const lock = await findLock(root);
    if (lock) throw lockedError(root, lock, { user: undefined });
    const { files } = this.#service;
    const isUnreadable = async (folder: FolderPath) => {
      try {
        await files.folderExists(folder);
        return false;
      } catch (error) {
        if (isStoreError(error, 'denied')) return true;
        throw error;
      }
    };
    const isTaken = async (folder: FolderPath) =>
      taken.has(folder) || (await isUnreadable(folder)) || (await findLock(folder)) !== undefined;
    return withFreeFolders(files, { root, wanted, isTaken });
  }

  /** Returns the folder of a path whose name is taken by what listings omit, or to which the store lets the service add nothing. */
  async findTakenFolder(path: FilePath, error: unknown): Promise<FolderPath | undefined> {
    const isDenied = isStoreError(error, 'denied');
    if (!isDenied && !isStoreError(error, 'wrong-kind')) return undefined;
    let last: FolderPath | undefined;
    for (const relative of foldersOf(path).toReversed()) {
      const folder = this.fullPath(relative);
      if (!(await this.#service.files.folderExists(folder))) return isDenied ? last : folder;
      last = folder;
    }
    return isDenied ? last : undefined;
  }

  /** Throws 403 unless visitors may copy: no folders, and no files if the link limits uploads, because copies are no uploads. */
  requireCopies({ ofFolder }: { readonly ofFolder: boolean }): void {
    if (ofFolder) throw new HttpError('permission-denied', "Share links don't give permission to copy folders.");
    const { maxUploads, maxUploadBytes, asksSender } = this.#link;
    if (maxUploads === undefined && maxUploadBytes === undefined && !asksSender) return;
    throw new HttpError('permission-denied', "This link limits uploads, so it doesn't give permission to copy.");
  }

  /** Throws 403 if the link shows nothing: the response would tell whether the folder exists. */
  requireVisible(): void {
    if (this.permissions.includes('read')) return;
    throw new HttpError(
      'permission-denied',
      "This link only accepts files, so it doesn't give permission to create folders.",
    );
  }

  /** Visitors undo nothing. */
  filesToUndo(): never {
    throw unknownRoute(this.#request);
  }

  /** Visitors hold no locks. */
  filesWithLocks(): never {
    throw unknownRoute(this.#request);
  }

  permissionsFor(folder: FolderPath): Permission[] {
    return PERMISSIONS.filter((permission) => this.#currentPolicy().allows(undefined, permission, folder));
  }

  /** Visitors learn nothing about the permissions of users. */
  isKnownPublic(): false {
    return false;
  }

  /** Visitors start no work that continues after the request. */
  submitter(): Submitter {
    throw unknownRoute(this.#request);
  }

  /** The connection of a visitor is closed when their link is revoked. */
  watchAppToken(): undefined {
    return undefined;
  }

  async confirm(): Promise<void> {
    if (performance.now() - this.#startedAt >= STALE_AGE_MS) await this.confirmNow();
  }

  /** Throws 404 if the link was revoked, has expired, or was changed in a way that ends its uses. */
  async confirmNow(): Promise<void> {
    const { table, items } = this.#links;
    const link = await table.find(this.#link.id);
    if (!link || !this.#isAllowedWith(await items.check(link))) throw linkGone();
  }

  /** Whether the visitor may use the link: it needs no password, or they have entered it. */
  get isAdmitted(): boolean {
    return this.#isAdmitted;
  }

  /** Admits the visitor, until the link is revoked: the request then ends soon. */
  admit(): void {
    this.#isAdmitted = true;
    const end = this.#links.watch.add({
      id: this.#link.id,
      isAllowed: (link) => this.#isAllowedWith(link),
      end: () => void this.#reply.raw.destroy(),
    });
    this.#reply.raw.once('close', end);
  }

  /** Runs `send`, which begins the download of content, and counts it. Throws 403 if the link allows no more. */
  async countDownload<Result>(send: () => Promise<Result>): Promise<Result> {
    const { table } = this.#links;
    if (!(await table.countDownload(this.#link.id))) throw await this.#exhausted('downloads');
    try {
      return await send();
    } catch (error) {
      await table.refundDownload(this.#link.id);
      throw error;
    }
  }

  /** Runs `send`, and counts it as a download if the link limits their number. */
  countLimitedDownload<Result>(send: () => Promise<Result>): Promise<Result> {
    return this.#link.maxDownloads === undefined ? send() : this.countDownload(send);
  }

  /**
   * Runs `receive`, which uploads a file, and calls its argument when the content has arrived. Only then the upload counts, so
   * that clients that send nothing use up no uploads. Throws 403 if the link allows no more.
   */
  async countUpload<Result>(receive: (count: () => Promise<void>) => Promise<Result>): Promise<Result> {
    const { table } = this.#links;
    if (usesLeft(this.#link, 'write') === 0) throw await this.#exhausted('uploads');
    let isCounted = false;
    try {
      return await receive(async () => {
        if (!(await table.countUpload(this.#link.id))) throw await this.#exhausted('uploads');
        isCounted = true;
      });
    } catch (error) {
      if (isCounted) await table.refundUpload(this.#link.id);
      throw error;
    }
  }

  /** Creates a folder. A new one counts as an upload. Throws 403 if the link allows no more. */
  async createFolder(folder: FolderPath): Promise<void> {
    const { files } = this;
    if (files.canRead(folder) && (await files.folderExists(folder))) return files.createFolder(folder);
    return this.countUpload(async (count) => {
      await count();
      await files.createFolder(folder);
    });
  }

  /** Returns the grant of a signed URL of this link. Throws 403 if the URL is not valid. */
  verifyUrl(file: FilePath, query: string): DownloadGrant {
    return this.#signedUrls().verify(file, query, Date.now());
  }

  record(event: AuditEvent): void {
    this.#isRecorded = true;
    this.#service.audit.write(this.#inStore(event), this.#actor());
  }

  /** Returns an event with the paths in the store, and the link. */
  #inStore(event: AuditEvent): AuditEvent {
    const { path, paths, destination } = event;
    const full = (relative: string) => this.fullPath(relative as FilePath);
    return {
      ...event,
      ...(path !== undefined && { path: full(path) }),
      ...(paths !== undefined && { paths: paths.map(full) }),
      ...(destination !== undefined && { destination: full(destination) }),
      link: this.#link.id,
    };
  }

  recordRefusal(reason: string): void {
    if (this.#isRecorded) return;
    this.#isRecorded = true;
    const { method } = this.#request;
    this.#service.audit.write(
      {
        event: 'refusal',
        action: method,
        path: pathOf(this.#request),
        link: this.#link.id,
        outcome: 'refused',
        reason,
      },
      this.#actor(),
    );
  }

  recordRead(read: Read): void {
    const { auditReads, audit } = this.#service;
    if (!auditReads) return;
    const actor = this.#actor();
    whenSent(this.#request, this.#reply, read, (event) => audit.write(this.#inStore(event), actor));
  }

  challenges(): string[] {
    return [];
  }

  #actor(): Actor {
    const { ip, id } = this.#request;
    return { user: undefined, authMethod: this.authMethod, clientAddress: ip, requestId: id };
  }

  #guardedFiles(): GuardedFiles {
    const recorded = filesOf(this.#service, {
      user: undefined,
      link: this.#link.id,
      onRecorded: (change) => this.#changes.push(change),
    });
    const shared = new SharedFiles(recorded, {
      folder: this.#folder,
      file: this.#file,
      cursors: this.#links.cursorsOf(this.#link),
      sign: (grant) => this.#sign(grant),
    });
    return new GuardedFiles(shared, {
      policy: () => this.#currentPolicy(),
      user: undefined,
      isLink: true,
      isHidden: this.#service.dav?.isHidden,
      confirm: () => this.confirm(),
      record: (event) => this.record(event),
    });
  }

  #currentPolicy(): Policy {
    const of = this.#service.access.policy();
    if (this.#policy?.of === of) return this.#policy.policy;
    const policy = createLinkPolicy(of, {
      folder: this.#folder,
      file: this.#file,
      permissions: permissionsOf(this.#link, of),
      creator: this.#link.creator,
    });
    this.#policy = { of, policy };
    return policy;
  }

  /** Returns whether the request may continue with the link as it is now. */
  #isAllowedWith(link: Link): boolean {
    const policy = this.#service.access.policy();
    if (isEnded(link, policy) || link.passwordHash !== this.#link.passwordHash) return false;
    // The paths of the request are those of the item before it was moved.
    if (link.path !== this.#link.path) return false;
    return this.#link.permissions.every((permission) => link.permissions.includes(permission));
  }

  async #exhausted(what: 'downloads' | 'uploads'): Promise<HttpError> {
    await this.confirmNow();
    return new HttpError('link-exhausted', `This link allows no more ${what}. Ask the user who shared it.`);
  }

  #sign(grant: Omit<DownloadGrant, 'expires'>): string {
    const url = this.#signedUrls().sign({ ...grant, expires: Math.floor(Date.now() / 1000) + URL_LIFETIME_SECONDS });
    const { contentOrigin, basePath } = this.#service;
    if (contentOrigin === undefined) return url;
    return `${contentOrigin}${basePath}${LINK_PREFIX}${linkTokenOf(this.#request) ?? ''}${url}`;
  }

  /** The signed URLs of this link, which are not valid for another one, and end with the password. */
  #signedUrls(): SignedUrls {
    const { id, passwordHash = null } = this.#link;
    return new SignedUrls(
      createHmac('sha256', this.#links.urlKey)
        .update(JSON.stringify([id, passwordHash]))
        .digest(),
    );
  }
}

/** Returns the access of a visitor; undefined if the request does not come by a share link. */
export function visitorOf({ access }: FastifyRequest): LinkRequestAccess | undefined {
  return access instanceof LinkRequestAccess ? access : undefined;
}
