import { parseFolder } from '../../domain/path.ts';
import { accessOf } from '../access/request-access.ts';
import type { LongOperations } from '../long-operations.ts';
import { CreateFolder, Failure, FolderRenamed, PathParameter, Rename, Success, withProgress } from '../schemas.ts';
import type { App } from '../service.ts';

/** What a folder operation says beside its result: how to follow and to cancel it. */
export const PROGRESS =
  'With `Accept: application/x-ndjson` it answers at once with lines of progress, the last one being the usual ' +
  'answer and its `status`; leaving the request cancels the operation.';

/** The removal of a folder. Its requests have no body; what is sent as one is not looked at. */
export function deleteFolderRoute(app: App, operations: LongOperations): void {
  app.route({
    method: ['DELETE', 'POST'],
    url: '/delete_folder/*',
    config: { access: 'files' },
    schema: {
      tags: ['Folders'],
      summary: 'Delete a folder and everything in it',
      description: `\`POST\` is for environments that lack \`DELETE\`. ${PROGRESS}`,
      params: PathParameter,
      response: { 200: withProgress(Success), '4xx': Failure, '5xx': Failure },
    },
    handler: async (request, reply) => {
      const { files } = accessOf(request);
      const folder = parseFolder(request.params['*']);
      return operations.answer(request, reply, async (options) => {
        await files.deleteFolder(folder, options);
        return { success: true, message: 'Folder deleted successfully' } as const;
      });
    },
  });
}

export function folderRoutes(app: App, operations: LongOperations): void {
  app.post(
    '/rename_folder/*',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Folders'],
        summary: 'Rename a folder',
        description: `The folder stays where it is, with everything in it. ${PROGRESS}`,
        params: PathParameter,
        body: Rename,
        response: { 200: withProgress(FolderRenamed), '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { files } = accessOf(request);
      const folder = parseFolder(request.params['*']);
      const { newName, overwrite = false } = request.body;
      return operations.answer(request, reply, async (options) => {
        const newPrefix = await files.renameFolder(folder, newName, { ...options, replace: overwrite });
        return { success: true, message: 'Folder renamed successfully', newPrefix } as const;
      });
    },
  );

  app.post(
    '/create_folder',
    {
      config: { access: 'files' },
      schema: {
        tags: ['Folders'],
        summary: 'Create a folder',
        description: 'With its parents; a folder that exists already is a success.',
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
