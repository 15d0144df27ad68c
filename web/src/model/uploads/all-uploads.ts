import type { Prompts } from '../prompts.ts';
import { createConnection } from './connection.ts';
import { watchUser } from './reveal.ts';
import { type AllUploads, createUploadModel, type UploadModelOptions } from './upload-model.ts';

const KINDS = { incoming: 'file', existing: 'file' } as const;

/** Creates the upload model in the browser. */
export function createAllUploads(options: UploadModelOptions, prompts: Prompts): AllUploads {
  // Preloads the upload code, because the network may fail before the first upload.
  void import('../../platform/service/upload.ts').catch(() => {});
  return createUploadModel(options, {
    connection: createConnection(),
    watchUser,
    askAboutConflict: ({ folder, name, file }, conflict) =>
      prompts.resolveConflict({ folder, name, kinds: KINDS, incoming: file, ...conflict }),
  });
}
