import type { Visit } from '../../model/visit/visit.ts';
import { escapePath } from '../../platform/service/urls.ts';
import type { ActionDefinition } from '../actions/action-list.ts';

/** The action that downloads the shown folder as one ZIP file. */
export function downloadAllAction(visit: Visit): ActionDefinition {
  return {
    id: 'downloadAll',
    icon: 'download',
    keys: ['alt+shift+a'],
    group: 'show',
    needs: ['read'],
    isAvailable: ({ folder }) => folder.state.value === 'ready' && folder.count.value > 0,
    run({ folder, urls }) {
      void visit.download(urls.endpoint(`-/zip/${escapePath(folder.path.value)}`));
    },
  };
}
