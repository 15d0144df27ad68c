import { parseFile, parseFolder } from '../../domain/path.ts';
import { accessOf } from '../access/request-access.ts';
import type { LongOperations } from '../long-operations.ts';
import { Failure, Success, Transfer, withProgress } from '../schemas.ts';
import type { App } from '../service.ts';
import { PROGRESS } from './folders.ts';

/** `/copy` and `/move`, which differ in nothing but what is done. */
export function transferRoutes(app: App, operations: LongOperations): void {
  const routes = [
    {
      url: '/copy',
      summary: 'Copy a file or folder',
      message: 'Item copied successfully',
      transferFile: 'copyFile',
      transferFolder: 'copyFolder',
    },
    {
      url: '/move',
      summary: 'Move a file or folder',
      message: 'Item moved successfully',
      transferFile: 'moveFile',
      transferFolder: 'moveFolder',
    },
  ] as const;

  for (const { url, summary, message, transferFile, transferFolder } of routes) {
    app.post(
      url,
      {
        config: { access: 'files' },
        schema: {
          tags: ['Files and folders'],
          summary,
          description: `A folder goes with everything in it. For folders: ${PROGRESS}`,
          body: Transfer,
          response: { 200: withProgress(Success), '4xx': Failure, '5xx': Failure },
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
        const from = parseFolder(source);
        const to = parseFolder(destination);
        return operations.answer(request, reply, async (options) => {
          await files[transferFolder](from, to, { ...options, replace });
          return envelope;
        });
      },
    );
  }
}
