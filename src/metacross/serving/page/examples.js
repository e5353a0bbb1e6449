// Texts to try, written for this page.

export const EXAMPLES = [
  {
    language: "es",
    name: "Español",
    text:
      "El entrenador Manuel Ortega pidió calma cuando el Real Betis perdió en Lisboa contra el " +
      "Benfica. El Gobierno de Chile firmó con Siemens un contrato para los trenes de Valparaíso.",
  },
  {
    language: "nl",
    name: "Nederlands",
    text:
      "Ajax verloor in Napels en trainer Daan Visser gaf de scheidsrechter de schuld. " +
      "Volgens Greenpeace vertrok het schip maandag uit Rotterdam naar Oslo.",
  },
  {
    language: "de",
    name: "Deutsch",
    text:
      "Borussia Dortmund gewann in Mailand gegen Inter, Trainer Jonas Weber lobte die Abwehr. " +
      "Siemens verlegt die Abteilung von Lena Fischer im Mai von Hamburg nach Wien.",
  },
  {
    language: "fr",
    name: "Français",
    text:
      "Claire Dumont quitte Renault pour diriger le port de Marseille. " +
      "L'ONU enverra lundi une équipe à Bamako, a déclaré Paul Mercier à Genève.",
  },
  {
    language: "zh",
    name: "中文",
    text:
      "中国外交部长李明周一抵达巴黎，与法国总统会谈。" +
      "王丽在北京大学学习了四年，然后去了上海的华为公司工作。",
  },
  {
    language: "ar",
    name: "العربية",
    text:
      "وصل الرئيس محمود حسن إلى القاهرة يوم الاثنين للقاء وفد من الأمم المتحدة. " +
      "افتتحت شركة سامسونغ مكتبا جديدا في دبي.",
  },
  {
    language: "ru",
    name: "Русский",
    text:
      "Президент Иван Петров прибыл в понедельник в Берлин. " +
      "Зенит проиграл в Лиссабоне Бенфике.",
  },
];
