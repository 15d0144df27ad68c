import type { FastifyReply } from 'fastify';
import type { GuardedFiles } from '../../access/guard.ts';
import { ignoreOutage, requireUnlocked } from '../../dav/lockable-files.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../../model/path.ts';
import type { Entry } from '../../model/store.ts';
import { clientNetwork } from '../limits/connections.ts';
import { hasBody } from '../limits/slow-clients.ts';
import { deleteCondition, requirePreconditions } from '../preconditions.ts';
import { requireClutterAllowed } from './clutter.ts';
import { bothOf, requireIf, requireParent } from './conditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { canFind, findEntry, pathOf, requireEntry, type Target } from './targets.ts';

/*
 * The methods that change names: MKCOL, DELETE, COPY and MOVE. An operation on a folder is all or nothing, so that no response
 * lists files that failed.
 */

/** MKCOL (RFC 4918, section 9.3): creates a folder. */
export async function mkcol(context: DavContext): Promise<FastifyReply> {
  const { files, target, request, reply } = context;
  if (hasBody(request.headers))
    throw new DavError(415, 'MKCOL creates an empty folder. Send the request without a body.');
  requireClutterAllowed(context, target.folder);
  await requireIf(context);
  if (await findVisible(context, asEither(target))) {
    throw new DavError(405, `${quoted(target.folder)} already exists.`, '<D:resource-must-be-null/>');
  }
  requirePreconditions(request.headers, undefined);
  await requireParent(context, target);
  await files.createFolder(target.folder);
  return reply.code(201).send();
}

/** DELETE: moves a file or folder to the trash, or deletes it. */
export async function remove(context: DavContext): Promise<FastifyReply> {
  const { files, target, request, reply } = context;
  if (target.folder === ROOT) throw new DavError(403, "The root can't be deleted.");
  const depth = context.depth('infinity', '0', '1');
  const entry = await findDeleted(context);
  if (entry.kind === 'folder' && depth !== 'infinity') {
    throw new DavError(400, 'A folder is deleted with everything in it. Send Depth: infinity, or no Depth.');
  }
  const condition = await requireIf(context);
  if (isFolder(entry.path)) {
    requirePreconditions(request.headers, { kind: 'folder', path: entry.path });
    await files.deleteFolder(entry.path);
  } else {
    const { ifMatch } = await deleteCondition(request.headers, files, entry.path);
    const both = bothOf(condition, ifMatch === undefined ? undefined : { etag: ifMatch });
    await files.deleteFile(entry.path, typeof both === 'object' ? { ifMatch: both.etag } : {});
  }
  return reply.code(204).send();
}

/** Returns the file or folder to delete. Without the read permission, the trailing slash of the URL decides which it is. */
async function findDeleted({ files, target }: DavContext): Promise<Pick<Entry, 'kind' | 'path'>> {
  if (canFind(files, target)) return requireEntry(files, target);
  return target.file === undefined ? { kind: 'folder', path: target.folder } : { kind: 'file', path: target.file };
}

/** COPY (RFC 4918, section 9.8). */
export async function copy(context: DavContext): Promise<FastifyReply> {
  const isDeep = context.depth('infinity', '0') === 'infinity';
  return transfer(context, async (source, to, replace) => {
    const { files, environment, holder, request, signal } = context;
    if (source.kind === 'file') await files.copyFile(source.path, to.file ?? notAFolder(to), { replace });
    else if (isDeep) {
      const copyAll = () => files.copyFolder(source.path, to.folder, { replace });
      await environment.limitFolderCopy(clientNetwork(request.ip), copyAll, signal);
    } else {
      // Its properties are copied.
      files.requireRead('copy folder', source.path);
      await files.requireNewFolder(to.folder);
      await files.requireOperation({ action: 'copy folder', from: source.path, to: to.folder, replace });
      const { properties, onError } = environment.dav;
      await properties.requireCopy(source.path, holder.user, { isShallow: true }).catch(ignoreOutage);
      // On a full disk, it fails before the present folder is deleted.
      await files.createFolder(to.folder);
      if (replace) {
        await files.deleteFolder(to.folder);
        await files.createFolder(to.folder);
      }
      // The folder is already copied, so that an unavailable database only loses its properties, as in copies with content.
      await properties.copyOne(source.path, to.folder, holder.user).catch(onError);
    }
  });
}

/** MOVE (RFC 4918, section 9.9). */
export async function move(context: DavContext): Promise<FastifyReply> {
  context.depth('infinity');
  return transfer(context, async (source, to, replace) => {
    const { files } = context;
    if (source.kind === 'file') await files.moveFile(source.path, to.file ?? notAFolder(to), { replace });
    else await files.moveFolder(source.path, to.folder, { replace });
  });
}

/** Runs a COPY or MOVE: `run` gets the source, the destination, and whether to replace the existing entry. */
async function transfer(
  context: DavContext,
  run: (source: Entry, to: Target, replace: boolean) => Promise<void>,
): Promise<FastifyReply> {
  const { files, target, reply } = context;
  const to = destinationOf(context);
  const overwrites = parseOverwrite(context.header('overwrite'));
  const source = await requireEntry(files, target);
  await requireIf(context);
  requirePreconditions(context.request.headers, source);
  const destination = source.kind === 'file' ? asEither(to) : to;
  requireClutterAllowed(context, pathOf(destination));
  requireSeparate(context, source.path, destination);
  const present = await findVisible(context, asEither(destination));
  if (present && !overwrites) throw new DavError(412, `${quoted(present.path)} already exists, and Overwrite is F.`);
  if (!present) await requireParent(context, destination);
  const isReplaced = await replacing(
    context,
    present,
    { overwrites, isSameKind: present?.kind === source.kind },
    (replace) => run(source, destination, replace),
  );
  return reply.code(isReplaced ? 204 : 201).send();
}

/** Runs a COPY or MOVE that can replace an existing destination. Returns whether it replaced one. */
async function replacing(
  context: DavContext,
  present: Entry | undefined,
  { overwrites, isSameKind }: { readonly overwrites: boolean; readonly isSameKind: boolean },
  run: (replace: boolean) => Promise<void>,
): Promise<boolean> {
  const { files } = context;
  if (present && !isSameKind) await requireRemovable(context, present);
  try {
    // Replacing needs more permissions, so that it is requested only where something exists.
    await run(isSameKind);
    // A bucket can hold a file and a folder of the same name.
    if (present && !isSameKind) await removeEntry(files, present);
    return present !== undefined;
  } catch (error) {
    if (!overwrites || !isStoreError(error)) throw error;
    if (error.code === 'already-exists' && !present) {
      // Another client has created the destination meanwhile.
      await run(true);
      return true;
    }
    if (error.code !== 'wrong-kind' || !present || isSameKind) throw error;
  }
  // A file that replaces a folder, or the other way round: no store does that in one step. The first attempt has checked the
  // permissions and the locks. The present one is deleted first, to the trash if there is one.
  await removeEntry(files, present);
  await run(false);
  return true;
}

/** Throws 403 unless the user may remove a file or folder, and `locked` if a lock forbids it. */
async function requireRemovable(context: DavContext, entry: Entry): Promise<void> {
  const { files, environment } = context;
  const change = { path: entry.path, isMember: true, isTree: entry.kind === 'folder' };
  await requireUnlocked(environment.dav.locks, change, context).catch(ignoreOutage);
  if (entry.kind === 'folder') {
    await files.requireOperation({ action: 'delete folder', from: entry.path, permanent: false });
  } else if (!(await files.requireWrite(entry.path))) {
    throw new DavError(403, `You don't have permission to replace ${quoted(entry.path)}.`);
  }
}

async function removeEntry(files: GuardedFiles, entry: Entry): Promise<void> {
  if (entry.kind === 'folder') await files.deleteFolder(entry.path);
  else await files.deleteFile(entry.path);
}

/** Returns what exists at a destination; undefined if nothing does, or if the user may not know. */
async function findVisible({ files }: DavContext, target: Target): Promise<Entry | undefined> {
  return canFind(files, target) ? findEntry(files, target) : undefined;
}

/**
 * Throws 403 if a source and destination are the same, or one is in the other, also under another spelling in a store that folds
 * names: replacing the destination would delete the source. Only a MOVE can change the spelling itself.
 */
function requireSeparate({ environment, request }: DavContext, from: FilePath | FolderPath, to: Target): void {
  const { names } = environment.dav;
  const [source, folder] = [names.possible(from), names.possible(to.folder)];
  const isSame = source === folder || (to.file !== undefined && source === names.possible(to.file));
  const isRespelled = isSame && from !== to.file && from !== to.folder;
  if (isRespelled && request.method === 'MOVE') return;
  const isInside = isFolder(from) && folder.startsWith(source);
  // Also for a file: replacing the folder that contains it would delete it.
  const isAround = source.startsWith(folder);
  if (!isSame && !isInside && !isAround) return;
  throw new DavError(403, `${quoted(from)} and ${quoted(pathOf(to))} are the same, or one of them contains the other.`);
}

/** Returns the destination. Throws 400 without a URL, and 502 for another server (RFC 4918, section 9.8.5). */
function destinationOf(context: DavContext): Target {
  const { environment, request } = context;
  const header = context.header('destination');
  if (header === undefined || header === '') throw new DavError(400, 'The request has no header Destination.');
  if (!isUrl(header)) {
    throw new DavError(400, `The header Destination is ${quoted(header)}. Send an absolute URL or an absolute path.`);
  }
  const target = environment.urls.parse(header, request);
  if (target) {
    if (target.folder === ROOT) throw new DavError(403, "The root can't be replaced.");
    return target;
  }
  throw new DavError(
    502,
    `The Destination ${quoted(header)} is not a WebDAV URL of this service. Behind a reverse proxy, set PUBLIC_URL to the URL that clients use.`,
  );
}

/** Returns whether a text is an absolute URL, an absolute path, or a URL without its scheme. */
const isUrl = (text: string) => text.startsWith('/') || (/^[a-z][a-z\d+.-]*:\/\//i.test(text) && URL.canParse(text));

function parseOverwrite(header: string | undefined): boolean {
  const text = header?.toUpperCase() ?? 'T';
  if (text === 'T' || text === 'F') return text === 'T';
  throw new DavError(400, `The header Overwrite is ${quoted(header ?? '')}. Send T or F.`);
}

/** Returns the target as the name of a file or a folder: clients add a trailing slash to files, and omit it for folders. */
function asEither({ folder }: Target): Target {
  return { folder, file: folder.slice(0, -1) as FilePath };
}

function notAFolder({ folder }: Target): never {
  throw new DavError(409, `${quoted(folder)} is a folder in ${quoted(parentOf(folder))}.`);
}
