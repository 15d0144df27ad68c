import { useLanguage } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useFolder } from '../models.ts';
import { refreshProblem } from './problem-titles.ts';
import './folder-view.css';

/** Shows that the shown entries can be outdated, because the last refresh failed. */
export function ProblemBanner() {
  const folder = useFolder();
  const { text } = useLanguage();
  const problem = refreshProblem(folder, text);
  if (problem === undefined) return null;
  return (
    <div class="problem-banner">
      <Icon name="warning" />
      <p>
        {problem} {text.problems.unreachableHint}
      </p>
      <Button onClick={() => void folder.refresh()}>{text.controls.retry}</Button>
    </div>
  );
}
