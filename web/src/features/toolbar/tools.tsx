import { useRef } from 'preact/hooks';
import { useLanguage } from '../../platform/text/language.ts';
import { useToolbarFocus } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { MenuButton } from '../../ui/menus.tsx';
import { countWithin, NARROW, useFitting, useMedia } from '../../ui/responsive.ts';
import type { ActionId } from '../actions/action-list.ts';
import { useActions } from '../actions/actions.ts';

/** The actions: as buttons as far as they fit, the others in a menu. */
export function Tools({ isSelection }: { isSelection: boolean }) {
  const actions = useActions();
  const { text, tag } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const row = useRef<HTMLDivElement>(null);
  const focus = useToolbarFocus(row);

  const ids = useToolIds(isSelection, isNarrow);
  const ranked = BY_IMPORTANCE.filter((id) => ids.includes(id));
  const fitting = useFitting(row, isNarrow ? () => MAX_NARROW_TOOLS : countFittingTools, [isNarrow, tag, ids.join()]);
  const shown = ranked.slice(0, fitting);
  const isMain = (id: ActionId) => id === 'downloadAll' && !ids.includes('upload');
  const others = actions.menuGroups(shown.includes('upload') ? [...shown, 'uploadFolder'] : shown);

  return (
    <div ref={row} class="tools" role="toolbar" aria-label={text.shell.actions} {...focus}>
      {ids.map((id) => {
        const position = { rank: ranked.indexOf(id), isHidden: !shown.includes(id) };
        return id === 'upload' ? (
          <UploadTool key={id} {...position} isNarrow={isNarrow} />
        ) : (
          <Tool key={id} id={id} kind={isMain(id) ? 'primary' : 'plain'} {...position} />
        );
      })}
      {others.length > 0 && (
        <MenuButton class="tool more" icon="more" label={text.controls.more} groups={() => others}>
          {text.controls.more}
        </MenuButton>
      )}
    </div>
  );
}

/**
 * Returns the actions that have a button, in the order of the buttons. Those for the selection have fixed places, so that
 * no button moves when the selection changes. On a phone, which has few places, only available ones have a button.
 */
function useToolIds(isSelection: boolean, isNarrow: boolean): readonly ActionId[] {
  const actions = useActions().permitted();
  return (isSelection ? FOR_SELECTION : FOR_FOLDER).filter((id) => {
    const action = actions.find((candidate) => candidate.id === id);
    // While a folder loads, these actions are unavailable for a moment. Their buttons stay, so that others don't move.
    return action && ((isSelection && !isNarrow) || PERMANENT.includes(id) || action.isAvailable());
  });
}

const FOR_SELECTION: readonly ActionId[] = [
  'share',
  'download',
  'rename',
  'moveTo',
  'copyTo',
  'copyLink',
  'delete',
  'moveToTrash',
];
const FOR_FOLDER: readonly ActionId[] = ['newFolder', 'upload', 'downloadAll', 'paste'];
const PERMANENT: readonly ActionId[] = ['newFolder', 'upload'];

const BY_IMPORTANCE: readonly ActionId[] = [
  'newFolder',
  'upload',
  'downloadAll',
  'paste',
  'share',
  'download',
  'delete',
  'moveToTrash',
  'moveTo',
  'rename',
  'copyTo',
  'copyLink',
];

/** The number of buttons beside the menu at the lower edge of a phone. */
const MAX_NARROW_TOOLS = 4;

/** Pixels. */
const MENU_WIDTH = 48;
const TOOL_GAP = 4;

function countFittingTools(row: HTMLElement): number {
  const tools = [...row.querySelectorAll<HTMLElement>('[data-rank]')];
  const ranked = tools.toSorted((a, b) => Number(a.dataset['rank']) - Number(b.dataset['rank']));
  return countWithin(
    row.clientWidth - MENU_WIDTH,
    ranked.map(({ offsetWidth }) => offsetWidth + TOOL_GAP),
  );
}

/** A button to upload files, with a menu to upload folders. On a phone, the menu has both. */
function UploadTool({ rank, isHidden, isNarrow }: { rank: number; isHidden: boolean; isNarrow: boolean }) {
  const actions = useActions();
  const { text } = useLanguage();
  const groups = () => [
    actions
      .permitted()
      .filter(({ id }) => id === 'upload' || id === 'uploadFolder')
      .map((action) => ({ ...actions.menuItem(action), isDisabled: !action.isAvailable() })),
  ];
  if (isNarrow) {
    return (
      <MenuButton class="tool" icon="upload" label={text.shell.upload} groups={groups}>
        {text.shell.upload}
      </MenuButton>
    );
  }
  return (
    <div class={`split ${isHidden ? 'hidden' : ''}`} data-rank={rank}>
      <Tool id="upload" label={text.shell.upload} kind="primary" />
      <MenuButton class="tool primary" icon="chevron-down" label={text.shell.uploadMore} groups={groups} />
    </div>
  );
}

interface ToolProps {
  id: ActionId;
  /** By default, the name of the action. */
  label?: string;
  kind?: 'plain' | 'primary';
  /** The position in the order of importance. */
  rank?: number;
  isHidden?: boolean;
}

/** An action as a button. It stays focusable while the action is unavailable. */
function Tool({ id, label, kind = 'plain', rank, isHidden = false }: ToolProps) {
  const actions = useActions();
  const { text } = useLanguage();
  const action = actions.permitted().find((candidate) => candidate.id === id);
  if (!action) return null;
  const isAvailable = action.isAvailable();
  const [key] = action.keys;
  const name = text.actions[id];
  return (
    <button
      class={`tool ${kind} ${action.group} ${action.isDangerous ? 'dangerous' : ''} ${isHidden ? 'hidden' : ''}`}
      type="button"
      data-rank={rank}
      title={key === undefined ? name : `${name} (${keyLabel(key)})`}
      aria-disabled={!isAvailable}
      onClick={() => {
        if (isAvailable) action.run();
      }}
    >
      <Icon name={action.icon} />
      <span>{label ?? name}</span>
    </button>
  );
}
