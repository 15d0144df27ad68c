import { childFolder, parentOf, parseFile, parseFolder } from '../../model/path.ts';
import { accessOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import type { LongOperations } from '../long-operations.ts';
import {
  CreateFolder,
  DeleteQuery,
  Failure,
  FileRenamed,
  FolderRenamed,
  JobResponse,
  PathParameter,
  Rename,
  Success,
  Transfer,
  withProgress,
} from '../schemas.ts';
import type { JobStarter } from './jobs.ts';

/** Registers the route that deletes a file. Request bodies are ignored. */
export function deleteFileRoute(app: App): void {
  app.route({
    method: ['DELETE', 'POST'],
    url: '/delete/*',
    config: { access: 'files' },
    schema: {
      tags: ['Files'],
      summary: 'Delete a file',
      description: 'Moves it to the trash. Use `POST` if your client or proxy does not support `DELETE`.',
      params: PathParameter,
      querystring: DeleteQuery,
      response: { 200: Success, '4xx': Failure, '5xx': Failure },
    },
    handler: async (request) => {
      const { permanent } = request.query;
      await accessOf(request).files.deleteFile(parseFile(request.params['*']), { permanent });
      return { success: true, message: 'File deleted successfully' } as const;
    },
  });
}

export function renameFileRoute(app: App): void {
  app.post(
    '/rename/*',
    {
      config: { access: 'files' },
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
      const newKey = await accessOf(request).files.renameFile(file, newName, { replace: overwrite });
      return { success: true, message: 'File renamed successfully', newKey } as const;
    },
  );
}

/** OpenAPI description of progress and cancellation of folder operations. */
export const PROGRESS_DESCRIPTION =
  'With `Accept: application/x-ndjson`, the response starts at once and reports progress, one JSON object per line. ' +
  'The last line is the usual response with its `status`. Closing the connection cancels the operation. ' +
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
    config: { access: 'files' },
    schema: {
      tags: ['Folders'],
      summary: 'Delete a folder and everything in it',
      description: `Moves it to the trash. Use \`POST\` if your client or proxy does not support \`DELETE\`. ${PROGRESS_DESCRIPTION}`,
      params: PathParameter,
      querystring: DeleteQuery,
      response: { 200: withProgress(Success), 202: JobResponse, '4xx': Failure, '5xx': Failure },
    },
    handler: async (request, reply) => {
      const { files } = accessOf(request);
      const folder = parseFolder(request.params['*']);
      const { permanent = false } = request.query;
      const envelope = { success: true, message: 'Folder deleted successfully' } as const;
      const operation = { action: 'delete folder', from: folder, permanent } as const;
      const started = await jobs.start(request, reply, operation, () => envelope);
      if (started) return started;
      return operations.run(request, reply, async (options) => {
        await files.deleteFolder(folder, { ...options, permanent });
        return envelope;
      });
    },
  });
}

export function folderRoutes(app: App, { operations, jobs }: OperationOptions): void {
  app.post(
    '/rename_folder/*',
    {
      config: { access: 'files' },
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
      const { newName, overwrite = false } = request.body;
      const to = childFolder(parentOf(folder), newName);
      const respond = (newPrefix: string) =>
        ({ success: true, message: 'Folder renamed successfully', newPrefix }) as const;
      const operation = { action: 'rename folder', from: folder, to, replace: overwrite } as const;
      const started = await jobs.start(request, reply, operation, () => respond(to));
      if (started) return started;
      return operations.run(request, reply, async (options) =>
        respond(await files.renameFolder(folder, newName, { ...options, replace: overwrite })),
      );
    },
  );

  app.post(
    '/create_folder',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Folders'],
        summary: 'Create a folder',
        description: 'Also creates missing parent folders. Succeeds if the folder exists.',
        body: CreateFolder,
        response: { 200: Success, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request) => {
      await accessOf(request).files.createFolder(parseFolder(request.body.path));
      return { success: true, message: 'Folder created successfully' } as const;
    },
  );
}

/** Registers `/copy` and `/move`, which differ only in the called operation. */
export function transferRoutes(app: App, { operations, jobs }: OperationOptions): void {
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
        config: { access: 'files' },
        schema: {
          tags: ['Files and folders'],
          summary,
          description: `Folders include everything in them. For folders: ${PROGRESS_DESCRIPTION}`,
          body: Transfer,
          response: { 200: withProgress(Success), 202: JobResponse, '4xx': Failure, '5xx': Failure },
        },
      },
      async (request, reply) => {
        const { source, destination, is_folder: isFolder, overwrite: replace = false } = request.body;
        const { files } = accessOf(request);
        const envelope = { success: true, message } as const;
        if (!isFolder) {
          await files[transferFile](parseFile(source), parseFile(destination), { replace });
          return envelope;
        }
        const sourceFolder = parseFolder(source);
        const destinationFolder = parseFolder(destination);
        const operation = { action, from: sourceFolder, to: destinationFolder, replace };
        const started = await jobs.start(request, reply, operation, () => envelope);
        if (started) return started;
        return operations.run(request, reply, async (options) => {
          await files[transferFolder](sourceFolder, destinationFolder, { ...options, replace });
          return envelope;
        });
      },
    );
  }
}
