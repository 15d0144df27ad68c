import { askAboutConflict } from '../controls/conflict-question.tsx';
import { createConnection } from './connection.ts';
import { watchUser } from './reveal.ts';
import { type AllUploads, createUploadModel } from './upload-model.ts';
import type { UploadsOptions } from './uploads.ts';

const KINDS = { arriving: 'file', there: 'file' } as const;

/** Creates the upload model in the browser. */
export function createAllUploads({ dialogs, ...options }: UploadsOptions): AllUploads {
  // Preloads the upload code, because the network may fail before the first upload.
  void import('../service/upload.ts').catch(() => {});
  return createUploadModel(options, {
    connection: createConnection(),
    watchUser,
    askAboutConflict: ({ folder, name, file }, conflict) =>
      askAboutConflict({ dialogs, folder, name, kinds: KINDS, arriving: file, ...conflict }),
  });
}
