import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { isHeld, isHolder, type Lock, lockedError } from '../../dav/lock.ts';
import type { NewLock } from '../../dav/locks.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { type FilePath, isFolder } from '../../model/path.ts';
import type { Entry } from '../../model/store.ts';
import { accessOf } from '../access/request-access.ts';
import { requirePreconditions } from '../preconditions.ts';
import { requireClutterAllowed } from './clutter.ts';
import { requireCredentials, requireIf, requireParent } from './conditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { XML_TYPE } from './errors.ts';
import { lockTokenOf, uuidOf } from './if-header.ts';
import { LiveProperties } from './live-properties.ts';
import { findEntry } from './targets.ts';
import { childOf, escapeXml, isDav, toXml } from './xml.ts';
import { parseXml } from './xml-parser.ts';

/** Seconds until a lock expires: by default, and at most. Clients refresh locks that they need for longer. */
const DEFAULT_TIMEOUT_SECONDS = 600;
const MAX_TIMEOUT_SECONDS = 3600;

/** Seconds until the lock of a new file ends if the process is killed before it has created the file. */
const NEW_FILE_TIMEOUT_SECONDS = 60;

/** Maximum characters of what a client says about the owner of a lock. */
const MAX_OWNER_LENGTH = 1000;

/** LOCK (RFC 4918, section 9.10): locks a file or folder, or refreshes a lock. Creates an empty file where nothing exists. */
export async function lock(context: DavContext): Promise<FastifyReply> {
  const { files, target, holder } = context;
  requireCredentials(context, 'lock');
  context.requireWritable();
  const timeoutSeconds = parseTimeout(context.header('timeout'));
  const body = await context.readBody();
  if (body.length === 0) return refresh(context, timeoutSeconds);
  const { scope, owner } = parseBody(body);
  const isDeep = context.depth('infinity', '0') === 'infinity';
  const entry = await findEntry(files, target);
  await requireIf(context);
  requirePreconditions(context.request.headers, entry);
  const path = entry?.path ?? target.file;
  if (path === undefined)
    throw new DavError(409, `The folder ${quoted(target.folder)} does not exist. Create it first.`);
  if (!entry) {
    requireClutterAllowed(context, path);
    await requireParent(context, target);
  }
  const { user, appToken } = holder;
  const isTree = isDeep && entry?.kind === 'folder';
  const wanted = { path, scope, isDeep: isTree, owner, user, appToken, timeoutSeconds };
  const created = entry || isFolder(path) ? undefined : await lockNewFile(context, { ...wanted, path });
  const locked = created ?? (await files.lock(path, { isNew: false, isDeep: isTree }, () => create(context, wanted)));
  return sendLocks(context, { locks: [locked], status: created ? 201 : 200, token: locked.token });
}

/** Adds a lock. Throws 423 if another one conflicts with it. */
async function create(context: DavContext, wanted: NewLock): Promise<Lock> {
  const outcome = await context.environment.dav.locks.create(wanted);
  if ('lock' in outcome) return outcome.lock;
  const { conflict } = outcome;
  throw new DavError(
    423,
    lockedError(wanted.path, conflict, context.holder).message,
    conflictElement(context, conflict),
  );
}

/**
 * Locks an unused path, and creates the empty file there (RFC 4918, section 7.3), or does neither. Only if the database fails
 * after the file was created, the file remains without a lock. Returns undefined if another client has created the file meanwhile.
 */
async function lockNewFile(
  context: DavContext,
  wanted: NewLock & { readonly path: FilePath },
): Promise<Lock | undefined> {
  const { files, request, holder, environment } = context;
  const { locks } = environment.dav;
  const { path, timeoutSeconds } = wanted;
  const lockAndCreate = async () => {
    // First the lock: another client could otherwise lock the path before this one, which leaves an empty file without a lock.
    const brief = Math.min(timeoutSeconds, NEW_FILE_TIMEOUT_SECONDS);
    const { token } = await create(context, { ...wanted, timeoutSeconds: brief });
    try {
      const target = { path, condition: 'absent' } as const;
      const withLock = accessOf(request).filesWithLocks(new Set([...holder.tokens, token]));
      await withLock.upload({ target, body: Readable.from([]), maxSize: 0 });
      return (await locks.refresh(token, timeoutSeconds)) ?? (await create(context, wanted));
    } catch (error) {
      // If this fails too, the lock ends by itself.
      await locks.remove(token).catch(() => {});
      throw error;
    }
  };
  try {
    return await files.lock(path, { isNew: true, isDeep: false }, lockAndCreate);
  } catch (error) {
    if (isStoreError(error) && error.code === 'name-taken') return undefined;
    throw error;
  }
}

/** Refreshes the lock whose token is in `If` (RFC 4918, section 9.10.2). */
async function refresh(context: DavContext, timeoutSeconds: number): Promise<FastifyReply> {
  const { files, target, holder, environment } = context;
  if (holder.tokens.size === 0) {
    throw new DavError(400, 'The request has no body. To refresh a lock, send its token in the header If.');
  }
  await requireIf(context);
  const entry = await findEntry(files, target);
  requirePreconditions(context.request.headers, entry);
  const covering = entry ? await environment.dav.locks.covering(entry.path) : [];
  const held = covering.find((each) => isHeld(each, holder));
  if (held) await files.requireLockRefresh(held.path);
  const refreshed = held && (await environment.dav.locks.refresh(held.token, timeoutSeconds));
  if (!refreshed)
    throw tokenMismatch('No lock with this token covers the file or folder, or another user holds it.', 412);
  return sendLocks(context, { locks: [refreshed], status: 200 });
}

/** UNLOCK (RFC 4918, section 9.11): ends a lock. */
export async function unlock(context: DavContext): Promise<FastifyReply> {
  const { files, target, reply, holder, environment } = context;
  const header = context.header('lock-token');
  const token = uuidOf(/^<(.*)>$/.exec(header ?? '')?.[1] ?? '');
  if (header === undefined) throw new DavError(400, 'The request has no header Lock-Token.');
  await requireIf(context);
  const entry: Entry | undefined = await findEntry(files, target);
  requirePreconditions(context.request.headers, entry);
  const path = entry?.path ?? target.file ?? target.folder;
  const found = (await environment.dav.locks.covering(path)).find((each) => each.token === token);
  if (!found) throw tokenMismatch(`No lock with the token ${quoted(header)} covers the file or folder.`, 409);
  await files.unlock(found, { isHolder: isHolder(found, holder) }, async () => {
    await environment.dav.locks.remove(found.token);
  });
  return reply.code(204).send();
}

const tokenMismatch = (message: string, status: number) =>
  new DavError(status, message, '<D:lock-token-matches-request-uri/>');

function conflictElement({ environment }: DavContext, { path }: Lock): string {
  const href = escapeXml(environment.urls.hrefOf(path));
  return `<D:no-conflicting-lock><D:href>${href}</D:href></D:no-conflicting-lock>`;
}

function sendLocks(
  { reply, environment }: DavContext,
  { locks, status, token }: { readonly locks: readonly Lock[]; readonly status: number; readonly token?: string },
): FastifyReply {
  const discovery = new LiveProperties(environment.urls).lockDiscovery(locks);
  if (token !== undefined) reply.header('lock-token', `<${lockTokenOf(token)}>`);
  return reply
    .code(status)
    .type(XML_TYPE)
    .send(`<?xml version="1.0" encoding="utf-8"?>\n<D:prop xmlns:D="DAV:">${discovery}</D:prop>\n`);
}

/** Returns the kind of lock that a body asks for. Throws 400 for another document, and 422 for another kind of lock. */
function parseBody(body: Buffer): Pick<Lock, 'scope' | 'owner'> {
  const root = parseXml(body);
  if (!isDav(root, 'lockinfo')) throw new DavError(400, 'The body is not a DAV:lockinfo element.');
  const [scopeElement, type, ownerElement] = ['lockscope', 'locktype', 'owner'].map((name) => childOf(root, name));
  const scope = (['exclusive', 'shared'] as const).find((each) => scopeElement && childOf(scopeElement, each));
  if (scope === undefined || !type || !childOf(type, 'write')) {
    throw new DavError(422, 'Send the lockscope exclusive or shared, and the locktype write.');
  }
  if (!ownerElement) return { scope, owner: undefined };
  const owner = toXml(ownerElement);
  if (owner.length > MAX_OWNER_LENGTH)
    throw new DavError(422, `The owner has more than ${MAX_OWNER_LENGTH} characters.`);
  return { scope, owner };
}

/** Returns the seconds of the first timeout that a client prefers and the service knows (RFC 4918, section 10.7). */
function parseTimeout(header: string | undefined): number {
  for (const preference of header?.split(',') ?? []) {
    const [, seconds] = /^second-(\d+)$/i.exec(preference.trim()) ?? [];
    if (seconds !== undefined) return Math.max(1, Math.min(Number(seconds), MAX_TIMEOUT_SECONDS));
    if (/^infinite$/i.test(preference.trim())) return MAX_TIMEOUT_SECONDS;
  }
  return DEFAULT_TIMEOUT_SECONDS;
}
