import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFolderScene, settled } from './folder-scene.ts';

describe('Reading a folder again', () => {
  it('asks for the sign-in until what the user asked for has been read', async () => {
    const sent: boolean[] = [];
    let respond = () => {};
    const { folder } = await createFolderScene({
      override: ({ list }) => ({
        async list(path, options = {}) {
          const isFirst = options.signal === undefined;
          if (!isFirst) {
            sent.push(options.isBackground === true);
            await new Promise<void>((resolve) => {
              respond = resolve;
            });
          }
          return list(path, options);
        },
      }),
    });
    void folder.refresh();
    // The page replaces the request of the user, as when the user returns to the page.
    void folder.refresh({ isBackground: true });
    const last = folder.refresh({ isBackground: true });
    respond();
    await last;
    await settled(folder);
    assert.deepEqual(sent, [false, false, false]);
    const next = folder.refresh({ isBackground: true });
    respond();
    await next;
    assert.deepEqual(sent, [false, false, false, true]);
  });
});
