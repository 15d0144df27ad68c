import { isHolder, type Lock } from '../../dav/lock.ts';
import { quoted, StoreError } from '../../model/error.ts';
import { parseFolder } from '../../model/path.ts';
import { accessOf } from '../access/request-access.ts';
import { textOf } from '../dav/xml.ts';
import { parseXml } from '../dav/xml-parser.ts';
import type { App } from '../fastify-app.ts';
import { Failure, type LockDescription, LockId, LockList, LocksQuery, Success } from '../schemas.ts';
import type { DavService } from '../service.ts';

/** Registers the routes that list and release the locks of WebDAV clients. */
export function lockRoutes(app: App, { locks }: DavService): void {
  app.get(
    '/-/locks',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Locks'],
        summary: 'List the locks in a folder',
        description:
          'Returns the locks of WebDAV clients that concern a folder: of the folder, of the folders that contain it if they lock everything in them, and of the files and folders directly in it. Changes of locked files fail with the code `locked`.',
        querystring: LocksQuery,
        response: { 200: LockList, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { files, isAnonymous } = accessOf(request);
      const folder = parseFolder(request.query.folder ?? '');
      files.requireRead('list locks', folder);
      const found = await locks.inFolder(folder);
      reply.header('cache-control', 'no-store');
      const visible = found.filter(({ path }) => files.canRead(path));
      return {
        success: true,
        locks: visible.map((lock) => describe(isAnonymous ? { ...lock, owner: undefined, user: undefined } : lock)),
      } satisfies LockList;
    },
  );

  app.delete(
    '/-/locks/:id',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Locks'],
        summary: 'Release a lock',
        description:
          'For the user who holds the lock, and for users with the permission to change what it locks. The client that holds it can then no longer save its changes.',
        params: LockId,
        response: { 200: Success, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      const { files, user, appToken } = accessOf(request);
      const { id } = request.params;
      const found = await locks.find(id);
      if (!found || !files.canRead(found.path)) throw lockNotFound(id);
      const isOwn = user !== undefined && isHolder(found, { user: user.name, appToken });
      await files.unlock(found, { isHolder: isOwn }, async () => {
        await locks.remove(found.token);
      });
      return { success: true, message: 'Lock released successfully' } as const;
    },
  );
}

function lockNotFound(id: string): StoreError {
  return new StoreError('not-found', `The lock ${quoted(id)} does not exist, or has ended.`);
}

/** Maximum characters of the owner in a response. */
const MAX_OWNER_LENGTH = 200;

function describe({ id, path, scope, isDeep, owner, user, createdAt, expiresAt }: Lock): LockDescription {
  const text = owner === undefined ? '' : textOf(parseXml(Buffer.from(owner))).trim();
  return {
    id,
    path,
    scope,
    depth: isDeep ? 'infinity' : '0',
    ...(user !== undefined && { user }),
    ...(text !== '' && { owner: text.slice(0, MAX_OWNER_LENGTH).toWellFormed() }),
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
