import { parseFile } from '../../domain/path.ts';
import { Failure, FileRenamed, PathParameter, Rename, Success } from '../schemas.ts';
import type { App, Service } from '../service.ts';

/** The removal of a file. Its requests have no body; what is sent as one is not looked at. */
export function deleteFileRoute(app: App, { files }: Service): void {
  app.route({
    method: ['DELETE', 'POST'],
    url: '/delete/*',
    schema: {
      tags: ['Files'],
      summary: 'Delete a file',
      description: '`POST` is for environments that lack `DELETE`.',
      params: PathParameter,
      response: { 200: Success, '4xx': Failure, '5xx': Failure },
    },
    handler: async (request) => {
      await files.deleteFile(parseFile(request.params['*']));
      return { success: true, message: 'File deleted successfully' } as const;
    },
  });
}

export function renameFileRoute(app: App, { files }: Service): void {
  app.post(
    '/rename/*',
    {
      schema: {
        tags: ['Files'],
        summary: 'Rename a file',
        description: 'The file stays in its folder.',
        params: PathParameter,
        body: Rename,
        response: { 200: FileRenamed, '4xx': Failure, '5xx': Failure },
      },
    },
    async ({ params, body }) => {
      const newKey = await files.renameFile(parseFile(params['*']), body.newName, { replace: body.overwrite ?? false });
      return { success: true, message: 'File renamed successfully', newKey } as const;
    },
  );
}
