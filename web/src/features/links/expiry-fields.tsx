import { useId } from 'preact/hooks';
import { dateOf, EXPIRIES, EXPIRY_DAYS, type Expiry, type ExpiryForm } from '../../model/expiry.ts';
import { type FullLanguage, useFullLanguage } from '../../platform/text/language.ts';

interface ExpiryProps {
  form: ExpiryForm;
  /** Whether the date is not in the future, which is shown. */
  isInvalid: boolean;
  onChange: (fields: Partial<ExpiryForm>) => void;
}

/** When a link or a token expires. */
export function ExpiryFields({ form: { expiry, date }, isInvalid, onChange }: ExpiryProps) {
  const language = useFullLanguage();
  const { links } = language.text;
  const id = useId();
  return (
    <div class="pair">
      <div class="field">
        <label for={id}>{links.expiry}</label>
        <select
          id={id}
          class="text-field"
          value={expiry}
          onChange={({ currentTarget }) => {
            const chosen = EXPIRIES[currentTarget.selectedIndex];
            if (chosen !== undefined) onChange({ expiry: chosen });
          }}
        >
          {EXPIRIES.map((choice) => (
            <option key={choice} value={choice}>
              {expiryLabel(choice, language)}
            </option>
          ))}
        </select>
      </div>
      {expiry === 'date' && (
        <div class="field">
          <label for={`${id}-date`}>{links.date}</label>
          <input
            id={`${id}-date`}
            class="text-field"
            type="date"
            min={dateOf(new Date())}
            aria-invalid={isInvalid}
            aria-describedby={`${id}-problem`}
            value={date}
            onInput={({ currentTarget }) => onChange({ date: currentTarget.value })}
          />
          <p id={`${id}-problem`} class="problem" role="status">
            {isInvalid && links.problems.past}
          </p>
        </div>
      )}
    </div>
  );
}

function expiryLabel(expiry: Expiry, { text: { links } }: FullLanguage): string {
  if (expiry === 'never') return links.never;
  return expiry === 'date' ? links.onDate : links.inDays({ count: EXPIRY_DAYS[expiry] });
}
