import { escapePath } from '../../platform/service/urls.ts';
import type { ActionDefinition } from '../actions/action-list.ts';

/** The action of visitors that downloads the shown folder as one ZIP file. */
export const DOWNLOAD_ALL: ActionDefinition = {
  id: 'downloadAll',
  icon: 'download',
  keys: ['alt+shift+a'],
  group: 'show',
  needs: ['read'],
  isAvailable: ({ folder }) => folder.state.value === 'ready' && folder.count.value > 0,
  run({ folder, urls, visit }) {
    void visit?.download(urls.endpoint(`-/zip/${escapePath(folder.path.value)}`));
  },
};
