import { useLanguage } from '../../platform/text/language-context.ts';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { useSelection } from '../models.ts';
import { FolderState } from './folder-state.tsx';
import { Tools } from './tools.tsx';
import './toolbar.css';

/**
 * What can be done: with the folder, or with what is selected. On a phone, the actions are a bar of their own at the
 * lower edge.
 */
export function Toolbar() {
  const selection = useSelection();
  const { text } = useLanguage();
  const count = selection.count.value;
  const isSelection = count > 0;
  return (
    <div class={`toolbar ${isSelection ? 'of-selection' : 'of-folder'}`} data-region="toolbar">
      {isSelection && (
        <div class="selected">
          <IconButton
            icon="close"
            label={text.shell.clearSelection}
            shortcut={keyLabel('Escape')}
            onClick={() => selection.clear()}
          />
          <span class="numbers">{text.shell.selected({ count })}</span>
        </div>
      )}
      <Tools key={String(isSelection)} isSelection={isSelection} />
      <FolderState />
    </div>
  );
}
