import { parseKeptId } from '../../model/kept-ids.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder, ROOT } from '../../model/path.ts';
import type { TrashedItem } from '../../model/store.ts';
import { accessOf, type ChangeField, changeOf } from '../access/request-access.ts';
import { restoreErrorOf } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { createListingLimiter, MAX_CONCURRENT_TRASH_LISTINGS } from '../limits/limits.ts';
import { clientSignal } from '../long-operations.ts';
import {
  Emptied,
  EmptyTrashQuery,
  Failure,
  JobResponse,
  Restore,
  Restored,
  Success,
  TrashId,
  TrashList,
  TrashQuery,
  withProgress,
} from '../schemas.ts';
import { type OperationOptions, PROGRESS_DESCRIPTION } from './files.ts';
import { changeOfJob } from './jobs.ts';

const config = { access: 'files' } as const;

/** Registers the route that lists the trash. */
export function listTrashRoute(app: App): void {
  const runLimited = createListingLimiter(MAX_CONCURRENT_TRASH_LISTINGS);
  app.get(
    '/-/trash',
    {
      config,
      schema: {
        tags: ['Trash'],
        summary: 'List the trash',
        description: 'Returns the deleted files and folders that the user can read.',
        querystring: TrashQuery,
        response: { 200: TrashList, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { folder, cursor, limit } = request.query;
      const { files } = accessOf(request);
      const signal = clientSignal(reply);
      const selection = { folder: parseTrashFolder(folder), cursor, limit, signal };
      const page = await runLimited(request.ip, () => files.listTrash(selection), signal);
      reply.header('cache-control', 'no-store');
      return {
        success: true,
        entries: page.items.map(describe),
        ...(page.cursor !== undefined && { cursor: page.cursor }),
      } satisfies TrashList;
    },
  );
}

/** Registers the routes that delete items in the trash permanently. Request bodies are ignored. */
export function purgeTrashRoutes(app: App, { operations, jobs }: OperationOptions): void {
  app.delete(
    '/-/trash/:id',
    {
      config,
      schema: {
        tags: ['Trash'],
        summary: 'Delete an item permanently',
        description: `Removes one item from the trash. ${PROGRESS_DESCRIPTION}`,
        params: TrashId,
        response: { 200: withProgress(Success), 202: JobResponse, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const id = parseKeptId(request.params.id);
      const { files } = accessOf(request);
      const envelope = { success: true, message: 'Item deleted permanently' } as const;
      const operation = async () =>
        ({ action: 'delete from trash', id, from: (await files.findTrashed(id)).path }) as const;
      const started = await jobs.start(request, reply, operation, () => envelope);
      if (started) return started;
      return operations.run(request, reply, async (options) => {
        await files.purgeTrashed(id, options);
        return envelope;
      });
    },
  );

  app.delete(
    '/-/trash',
    {
      config,
      schema: {
        tags: ['Trash'],
        summary: 'Empty the trash',
        description: `Deletes permanently all items that the user may delete. ${PROGRESS_DESCRIPTION}`,
        querystring: EmptyTrashQuery,
        response: { 200: withProgress(Emptied), 202: JobResponse, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const folder = parseTrashFolder(request.query.folder);
      const { files } = accessOf(request);
      const respond = (removed: number) => ({ success: true, message: 'Trash emptied successfully', removed }) as const;
      const operation = { action: 'empty trash', folder } as const;
      const started = await jobs.start(request, reply, operation, ({ removed }) => respond(Number(removed)));
      if (started) return started;
      return operations.run(request, reply, async (options) => respond(await files.emptyTrash({ ...options, folder })));
    },
  );
}

/** Registers the route that restores an item. */
export function restoreTrashRoute(app: App, { operations, jobs }: OperationOptions): void {
  app.post(
    '/-/trash/:id/restore',
    {
      config,
      // A request without options needs no body.
      preValidation: async (request) => {
        request.body ??= {};
      },
      schema: {
        tags: ['Trash'],
        summary: 'Restore an item',
        description: `Moves an item out of the trash, and creates the parent folders. ${PROGRESS_DESCRIPTION}`,
        params: TrashId,
        body: Restore,
        response: { 200: withProgress(Restored), 202: JobResponse, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const id = parseKeptId(request.params.id);
      const { to, onConflict = 'fail' } = request.body;
      const { files } = accessOf(request);
      const rename = onConflict === 'rename';
      const respond = (path: string, change: ChangeField) =>
        ({ success: true, message: 'Item restored successfully', path, ...change }) as const;
      const operation = async () => {
        const { path: from } = await files.findTrashed(id);
        return { action: 'restore', id, from, to: to === undefined ? from : parseLike(to, from), rename } as const;
      };
      const started = await jobs.start(request, reply, operation, (result) =>
        respond(String(result['path']), changeOfJob(result)),
      );
      if (started) return started;
      return operations.run(request, reply, async (options) => {
        const destination = to === undefined ? undefined : parseLike(to, (await files.findTrashed(id, options)).path);
        const restore = { ...options, to: destination, rename };
        const path = await files.restoreTrashed(id, restore).catch((error: unknown) => {
          throw restoreErrorOf(error);
        });
        return respond(path, changeOf(request));
      });
    },
  );
}

/** Parses a path of the same kind as the path of an item. */
function parseLike(text: string, path: FilePath | FolderPath): FilePath | FolderPath {
  return isFolder(path) ? parseFolder(text) : parseFile(text);
}

const parseTrashFolder = (folder: string | undefined) => (folder === undefined ? ROOT : parseFolder(folder));

function describe({ id, path, size, deletedAt, user }: TrashedItem): TrashList['entries'][number] {
  return {
    id,
    type: isFolder(path) ? 'folder' : 'file',
    path,
    ...(size !== undefined && { size }),
    deletedAt: deletedAt.toISOString(),
    ...(user !== undefined && { user }),
  };
}
