import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import type { ActionId } from '../actions/action-list.ts';
import { useActions } from '../actions/actions.ts';

interface ToolProps {
  id: ActionId;
  /** What it says, where that is not the name of the action. */
  label?: string;
  kind?: 'plain' | 'primary';
  /** Its place in the order in which tools find room. */
  rank?: number;
  isHidden?: boolean;
}

/** An action as a button of the toolbar. It keeps the focus while it can't be done. */
export function Tool({ id, label, kind = 'plain', rank, isHidden = false }: ToolProps) {
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
