import { childFolder, parentOf, parseFile, parseFolder } from '../../model/path.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf, type ChangeField, changeOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import { clientNetwork } from '../limits/connections.ts';
import type { FolderCopyLimiter } from '../limits/folder-copies.ts';
import type { LongOperations } from '../long-operations.ts';
import { deleteCondition, hasPreconditions, requireFileConditions, requirePreconditions } from '../preconditions.ts';
import {
  Changed,
  CreateFolder,
  DeleteQuery,
  Failure,
  FileRenamed,
  FolderRenamed,
  JobResponse,
  PathParameter,
  Rename,
  Transfer,
  withProgress,
} from '../schemas.ts';
import { changeOfJob, type JobStarter } from './jobs.ts';

/** Registers the routes that delete a file. Request bodies are ignored. */
export function deleteFileRoutes(app: App): void {
  const routes = [
    {
      url: '/delete/*',
      method: ['DELETE', 'POST'],
      hint: 'Use `POST` if your client or proxy does not support `DELETE`.',
    },
    { url: '/file/*', method: ['DELETE'], hint: 'The same as `DELETE /delete/{path}`.' },
  ] as const;
  for (const { url, method, hint } of routes) {
    app.route({
      method: [...method],
      url,
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Delete a file',
        description: `Moves it to the trash. With \`If-Match\` or another condition of RFC 9110, only if it holds for the file. ${hint}`,
        params: PathParameter,
        querystring: DeleteQuery,
        response: { 200: Changed, '4xx': Failure, '5xx': Failure },
      },
      handler: async (request) => {
        const { permanent } = request.query;
        const { files } = accessOf(request);
        const file = parseFile(request.params['*']);
        const condition = await deleteCondition(request.headers, files, file);
        await files.deleteFile(file, { permanent, ...condition });
        return { success: true, message: 'File deleted successfully', ...changeOf(request) } as const;
      },
    });
  }
}

export function renameFileRoute(app: App): void {
  app.post(
    '/rename/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Files'],
        summary: 'Rename a file',
        description: 'Changes the name within the folder.',
        params: PathParameter,
        body: Rename,
        response: { 200: FileRenamed, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      const { newName, overwrite = false } = request.body;
      const file = parseFile(request.params['*']);
      const { files } = accessOf(request);
      await requireFileConditions(request.headers, files, file);
      const newKey = await files.renameFile(file, newName, { replace: overwrite });
      return { success: true, message: 'File renamed successfully', newKey, ...changeOf(request) } as const;
    },
  );
}

/** OpenAPI description of a stream of progress. */
export const STREAM_DESCRIPTION =
  'With `Accept: application/x-ndjson`, the response starts at once and reports progress, one JSON object per line. ' +
  'The last line is the usual response with its `status`. Closing the connection cancels the operation.';

/** OpenAPI description of progress, cancellation and jobs of long operations. */
export const PROGRESS_DESCRIPTION =
  `${STREAM_DESCRIPTION} ` +
  'With `Prefer: respond-async`, the response is 202 at once, and the operation continues as the job in `Location`. ' +
  'With `Prefer: respond-async, wait=5`, the response is 202 only if the operation takes longer than 5 seconds.';

/** What the routes of long operations use. */
export interface OperationOptions {
  readonly operations: LongOperations;
  readonly jobs: JobStarter;
}

/** Registers the routes that delete a folder. Request bodies are ignored. */
export function deleteFolderRoute(app: App, { operations, jobs }: OperationOptions): void {
  app.route({
    method: ['DELETE', 'POST'],
    url: '/delete_folder/*',
    config: { access: 'files', links: 'visitors' },
    schema: {
      tags: ['Folders'],
      summary: 'Delete a folder and everything in it',
      description: `Moves it to the trash. Use \`POST\` if your client or proxy does not support \`DELETE\`. ${PROGRESS_DESCRIPTION}`,
      params: PathParameter,
      querystring: DeleteQuery,
      response: { 200: withProgress(Changed), 202: JobResponse, '4xx': Failure, '5xx': Failure },
    },
    handler: async (request, reply) => {
      const { files } = accessOf(request);
      const folder = parseFolder(request.params['*']);
      requirePreconditions(request.headers, { kind: 'folder', path: folder });
      const { permanent = false } = request.query;
      const respond = (change: ChangeField) =>
        ({ success: true, message: 'Folder deleted successfully', ...change }) as const;
      const operation = { action: 'delete folder', from: folder, permanent } as const;
      const started = await jobs.start(request, reply, operation, (result) => respond(changeOfJob(result)));
      if (started) return started;
      return operations.run(request, reply, async (options) => {
        await files.deleteFolder(folder, { ...options, permanent });
        return respond(changeOf(request));
      });
    },
  });
}

export function folderRoutes(app: App, { operations, jobs }: OperationOptions): void {
  app.post(
    '/rename_folder/*',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Folders'],
        summary: 'Rename a folder',
        description: `Changes the name within the parent folder. ${PROGRESS_DESCRIPTION}`,
        params: PathParameter,
        body: Rename,
        response: { 200: withProgress(FolderRenamed), 202: JobResponse, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { files } = accessOf(request);
      const folder = parseFolder(request.params['*']);
      requirePreconditions(request.headers, { kind: 'folder', path: folder });
      const { newName, overwrite = false } = request.body;
      const to = childFolder(parentOf(folder), newName);
      const respond = (newPrefix: string, change: ChangeField) =>
        ({ success: true, message: 'Folder renamed successfully', newPrefix, ...change }) as const;
      const operation = { action: 'rename folder', from: folder, to, replace: overwrite } as const;
      const started = await jobs.start(request, reply, operation, (result) => respond(to, changeOfJob(result)));
      if (started) return started;
      return operations.run(request, reply, async (options) => {
        const newPrefix = await files.renameFolder(folder, newName, { ...options, replace: overwrite });
        return respond(newPrefix, changeOf(request));
      });
    },
  );

  app.post(
    '/create_folder',
    {
      config: { access: 'files', links: 'visitors' },
      schema: {
        tags: ['Folders'],
        summary: 'Create a folder',
        description:
          'Also creates missing parent folders. Succeeds if the folder exists; the response then has no `change`.',
        body: CreateFolder,
        response: { 200: Changed, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      const visitor = visitorOf(request);
      visitor?.requireVisible();
      const { files } = accessOf(request);
      const folder = parseFolder(request.body.path);
      if (hasPreconditions(request.headers)) {
        const isPresent = files.canRead(folder) && (await files.folderExists(folder));
        requirePreconditions(request.headers, isPresent ? { kind: 'folder', path: folder } : undefined);
      }
      await (visitor ?? files).createFolder(folder);
      // For an existing folder, the response has no change. Users who don't see the folder can't undo its creation either.
      const change = files.canRead(folder) ? changeOf(request) : {};
      return { success: true, message: 'Folder created successfully', ...change } as const;
    },
  );
}

/** Registers `/copy` and `/move`, which differ only in the called operation. */
export function transferRoutes(
  app: App,
  { operations, jobs, limitFolderCopy }: OperationOptions & { readonly limitFolderCopy: FolderCopyLimiter },
): void {
  const routes = [
    {
      url: '/copy',
      summary: 'Copy a file or folder',
      message: 'Item copied successfully',
      transferFile: 'copyFile',
      transferFolder: 'copyFolder',
      action: 'copy folder',
    },
    {
      url: '/move',
      summary: 'Move a file or folder',
      message: 'Item moved successfully',
      transferFile: 'moveFile',
      transferFolder: 'moveFolder',
      action: 'move folder',
    },
  ] as const;

  for (const { url, summary, message, transferFile, transferFolder, action } of routes) {
    app.post(
      url,
      {
        config: { access: 'files', links: 'visitors' },
        schema: {
          tags: ['Files and folders'],
          summary,
          description: `Folders include everything in them. For folders: ${PROGRESS_DESCRIPTION}`,
          body: Transfer,
          response: { 200: withProgress(Changed), 202: JobResponse, '4xx': Failure, '5xx': Failure },
        },
      },
      async (request, reply) => {
        const { source, destination, is_folder: isFolder, overwrite: replace = false } = request.body;
        visitorOf(request)?.requireCopies({ ofFolder: isFolder });
        const { files } = accessOf(request);
        const respond = (change: ChangeField) => ({ success: true, message, ...change }) as const;
        if (!isFolder) {
          const file = parseFile(source);
          await requireFileConditions(request.headers, files, file);
          await files[transferFile](file, parseFile(destination), { replace });
          return respond(changeOf(request));
        }
        const sourceFolder = parseFolder(source);
        requirePreconditions(request.headers, { kind: 'folder', path: sourceFolder });
        const destinationFolder = parseFolder(destination);
        const operation = { action, from: sourceFolder, to: destinationFolder, replace };
        const started = await jobs.start(request, reply, operation, (result) => respond(changeOfJob(result)));
        if (started) return started;
        return operations.run(request, reply, async (options) => {
          const transfer = () => files[transferFolder](sourceFolder, destinationFolder, { ...options, replace });
          if (transferFolder === 'moveFolder') await transfer();
          else await limitFolderCopy(clientNetwork(request.ip), transfer, options.signal);
          return respond(changeOf(request));
        });
      },
    );
  }
}
