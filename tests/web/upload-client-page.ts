import Uppy from '@uppy/core';
import Tus from '@uppy/tus';
import { Upload } from 'tus-js-client';

// A page of another program, which uploads with the clients of the tus project. `upload-clients.test.ts` bundles it.

export interface ClientPage {
  /** Uploads a file with tus-js-client, or with Uppy. Resolves when the upload is complete. */
  upload(client: 'tus-js-client' | 'Uppy', endpoint: string, file: File, chunkSize: number): Promise<void>;
}

const RETRY_DELAYS = [0, 100, 1000, 2000, 5000];

const page: ClientPage = {
  async upload(client, endpoint, file, chunkSize) {
    const options = { endpoint, chunkSize, retryDelays: RETRY_DELAYS };
    if (client === 'tus-js-client') {
      await new Promise<void>((resolve, reject) => {
        const metadata = { filename: file.name, prefix: 'from a page/' };
        new Upload(file, { ...options, metadata, onSuccess: () => resolve(), onError: reject }).start();
      });
      return;
    }
    const uppy = new Uppy().use(Tus, options);
    uppy.addFile({ name: file.name, type: file.type, data: file });
    const result = await uppy.upload();
    if (result?.successful?.length !== 1) throw new Error(result?.failed?.map(({ error }) => error).join());
  },
};

Object.assign(window, { page });
