import Uppy from '@uppy/core';
import Tus from '@uppy/tus';
import { Upload } from 'tus-js-client';

// A page of another program, which uploads with the clients of the tus project. `upload-client-site.ts` bundles it.

export interface ClientUpload {
  readonly client: 'tus-js-client' | 'Uppy';
  readonly endpoint: string;
  readonly file: File;
  readonly metadata: Record<string, string>;
  /** Bytes of a part. */
  readonly chunkSize: number;
}

export interface ClientPage {
  /** Uploads a file. Resolves when the upload is complete. */
  upload(upload: ClientUpload): Promise<void>;
}

/** Milliseconds before each retry since the last progress. */
const RETRY_DELAYS = [0, 100, 200, 400, ...Array.from({ length: 100 }, () => 800)];

const page: ClientPage = {
  async upload({ client, endpoint, file, metadata, chunkSize }) {
    const options = { endpoint, chunkSize, retryDelays: RETRY_DELAYS };
    if (client === 'tus-js-client') {
      await new Promise<void>((resolve, reject) => {
        new Upload(file, { ...options, metadata, onSuccess: () => resolve(), onError: reject }).start();
      });
      return;
    }
    const uppy = new Uppy().use(Tus, options);
    uppy.addFile({ name: file.name, type: file.type, data: file, meta: metadata });
    const result = await uppy.upload();
    if (result?.successful?.length !== 1) throw new Error(result?.failed?.map(({ error }) => error).join());
  },
};

Object.assign(window, { page });
