import { parseFile } from '../../domain/path.ts';
import { accessOf } from '../access/request-access.ts';
import { Failure, FileRenamed, PathParameter, Rename, Success } from '../schemas.ts';
import type { App } from '../service.ts';

/** The removal of a file. Its requests have no body; what is sent as one is not looked at. */
export function deleteFileRoute(app: App): void {
  app.route({
    method: ['DELETE', 'POST'],
    url: '/delete/*',
    config: { access: 'files' },
    schema: {
      tags: ['Files'],
      summary: 'Delete a file',
      description: '`POST` is for environments that lack `DELETE`.',
      params: PathParameter,
      response: { 200: Success, '4xx': Failure, '5xx': Failure },
    },
    handler: async (request) => {
      await accessOf(request).files.deleteFile(parseFile(request.params['*']));
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
        description: 'The file stays in its folder.',
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
