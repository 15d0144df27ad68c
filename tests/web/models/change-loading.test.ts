import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { createPermissions } from '../../../web/src/model/account/permissions.ts';
import { createChanges } from '../../../web/src/model/changes/changes.ts';
import { createClipboard } from '../../../web/src/model/clipboard.ts';
import { createMessages } from '../../../web/src/model/messages.ts';
import type { Prompts } from '../../../web/src/model/prompts.ts';
import type { Service } from '../../../web/src/platform/service/service.ts';
import { createFolderScene, when } from './folder-scene.ts';
import { createEnglish } from './languages.ts';
import { createMemoryService } from './upload-service.ts';

const unexpected = () => assert.fail('Unexpected question.');
const PROMPTS: Prompts = {
  promptName: unexpected,
  promptNames: unexpected,
  confirmDelete: unexpected,
  confirmDeleteVersions: unexpected,
  resolveConflict: unexpected,
  pickFolder: unexpected,
};

describe('A change whose code can’t be loaded', () => {
  // The check for a new version of the page finds no script, and the timers of messages take no real time.
  before(() => {
    Object.assign(globalThis, { document: { querySelector: () => null, addEventListener() {} } });
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  after(() => {
    mock.timers.reset();
    Reflect.deleteProperty(globalThis, 'document');
  });

  it('is made by Retry once the code can be loaded', async () => {
    const { service: memory } = createMemoryService({ 'cat.txt': 'mine' });
    const sent: string[] = [];
    const service: Service = {
      ...memory,
      async send<Body>(endpoint: string) {
        sent.push(endpoint);
        return { jobs: [], newKey: 'dog.txt' } as Body;
      },
    };
    const { folder, selection } = await createFolderScene({ override: () => service });
    const messages = createMessages();
    let isOffline = true;
    const changes = createChanges({
      service,
      account: null,
      hasJobs: true,
      folder,
      selection,
      clipboard: createClipboard(),
      messages,
      permissions: createPermissions({
        isReadOnly: false,
        isControlled: false,
        isAnonymous: () => false,
        shown: folder.path,
      }),
      language: await createEnglish(),
      hasTrash: false,
      async loadPrompts() {
        if (isOffline) throw new Error('The script can’t be loaded.');
        return PROMPTS;
      },
    });
    const entry = folder.entryOf('cat.txt') ?? assert.fail('The folder lacks "cat.txt".');
    await changes.rename(entry, 'dog.txt');
    await when(() => messages.shown.value.length > 0);
    const [message] = messages.shown.value;
    assert.equal(message?.action?.label, 'Retry');
    isOffline = false;
    message.action.run();
    await when(() => messages.shown.value.length > 1);
    assert.deepEqual(sent, ['-/jobs', 'rename/cat.txt']);
  });
});
